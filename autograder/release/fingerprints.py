"""Tell whether a text holds the body of a function, renamed variables or not, from one that shares an idiom with it.

Code is compared as tokens: comments, docstrings, quotes, line breaks and indentation do not count. Two
stretches are the same if one becomes the other by renaming variables one to one; what NumPy and Python
name (`np.exp`, `axis`, `len`) must be the same. See Baker, "Parameterized pattern matching", 1996.
"""

import ast
import builtins
import keyword
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# Fewer tokens than SEED in common are an idiom: `x.max(axis=-1, keepdims=True)` has twelve.
SEED = 12
# A stretch in common counts as a piece of the body from this length on: a line or so.
PIECE = 14
# Up to here a stretch is short: renamed, it counts only if it has three words of NumPy's or Python's in it,
# and a body as short as this must be there as a whole.
SHORT = 20
# What must be found of a longer body before it is a leak: this share, or so many tokens ...
SHARE = 0.7
ENOUGH = 40
# ... or that many in several pieces, with other text between them.
ENOUGH_IN_PIECES = 80

_TOKEN = re.compile(
    r"""["'][A-Za-z_]\w*["'] | \.?[A-Za-z_]\w* | \d[\w.]*(?:(?<=e)-\d+)? | \*\* | // | [=!<>]= | [^\s\w"']""",
    re.VERBOSE,
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[#\s][^\n\v]*", re.MULTILINE)
_STRING = re.compile(r"""[rbfuRBFU]{0,2}("([^"\\\n]|\\.)*"|'([^'\\\n]|\\.)*')""")
_NAMED = frozenset({*keyword.kwlist, *dir(builtins), "np", "math", "torch", "nn", "self", "axis", "keepdims", "dtype"})
_NAME, _OTHER = "\1", "\0"
_STRETCH = re.compile(rf"[^{_OTHER}]{{{SEED},}}")


@dataclass(eq=False)  # two methods of one file may have the same name, so a body equals only itself
class Body:
    """The code of one function: its name, its file, its tokens, the same as one character a token.

    new[i]: token i is not part of anything a student holds anyway.
    """

    name: str
    file: str
    tokens: list[str]
    shape: str
    new: list[bool] = field(default_factory=list)

    @property
    def enough(self) -> int:
        return min(ENOUGH, _share(len(self.tokens)))

    @property
    def enough_in_pieces(self) -> int:
        return min(ENOUGH_IN_PIECES, _share(len(self.tokens)))

    def gives_away(self, positions: Iterable[int]) -> bool:
        """Whether these tokens of the body hold most of what is new in it."""
        return sum(self.new[i] for i in positions) >= min(ENOUGH, SHARE * sum(self.new)) > 0


@dataclass(frozen=True)
class Run:
    """`length` tokens of a body from `start` on, found in a text at its token `at`."""

    body: Body
    start: int
    at: int
    length: int

    @property
    def positions(self):
        return range(self.start, self.start + self.length)


class Fingerprints:
    """The bodies to look for.

    Args:
        sources: file name -> Python source, every function of which is to be kept secret.
        known: texts that students hold anyway, stubs and earlier solutions; what is in them is no secret.
    """

    def __init__(self, sources: dict[str, str], known: Iterable[str] = ()):
        self._shapes = _Shapes()
        self.bodies = [
            Body(name, file, tokens, self._shapes.of(tokens))
            for file, source in sources.items()
            for name, tokens in _bodies(source)
            if len(tokens) >= SEED
        ]
        self._shapes.closed = True
        self._seeds: dict[str, list[tuple[Body, int]]] = {}
        for body in self.bodies:
            body.new = [True] * len(body.tokens)
            for i in range(len(body.shape) - SEED + 1):
                self._seeds.setdefault(body.shape[i : i + SEED], []).append((body, i))
        for text in known:
            for run in list(self._runs(tokens_of(text))):
                run.body.new[run.start : run.start + run.length] = [False] * run.length

    def find(self, text: str) -> list[tuple[Body, int]]:
        """Bodies that a text gives away, each with the number of the line, from 1, where it begins."""
        tokens = tokens_of(text)
        by_body: dict[Body, list[Run]] = {}
        for run in self._runs(tokens):
            by_body.setdefault(run.body, []).append(run)
        found = [(runs[0].body, at) for runs in by_body.values() if (at := _leak(runs)) is not None]
        if not found:
            return []
        lines = lines_of_tokens(text)
        return [(body, lines[at]) for body, at in found]

    def _runs(self, tokens) -> Iterator[Run]:
        """All stretches of at least SEED tokens that a text shares with a body."""
        shape = self._shapes.of(tokens)
        seen: dict[tuple[Body, int], int] = {}
        for at in _places(shape):
            for body, start in self._seeds.get(shape[at : at + SEED], ()):
                diagonal = (body, at - start)
                if at < seen.get(diagonal, 0):
                    continue
                length = _common_prefix(body.shape, start, shape, at)
                seen[diagonal] = at + length
                ours, theirs = body.tokens[start : start + length], tokens[at : at + length]
                for first, end in _renamings(ours, theirs):
                    if _counts(ours[first:end], theirs[first:end]):
                        yield Run(body, start + first, at + first, end - first)


def tokens_of(text: str) -> list[str]:
    """The tokens of a text that may hold code, comments left out."""
    return _TOKEN.findall(_COMMENT.sub(_blank, text))


def lines_of_tokens(text: str) -> list[int]:
    """The number of the line, from 1, on which each token of a text stands."""
    text = _COMMENT.sub(_blank, text)
    lines, line, last = [], 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", last, token.start())
        last = token.start()
        lines.append(line)
    return lines


def is_variable(token: str) -> bool:
    """Whether a token is a name that somebody chose: no keyword, no attribute, nothing of Python's or NumPy's."""
    return token.isidentifier() and token not in _NAMED


def _blank(comment):
    return " " * len(comment[0])


class _Shapes(dict):
    """Token -> character: one for all variables, one of its own for every other token of a body."""

    closed = False

    def of(self, tokens):
        return "".join(map(self.__getitem__, tokens))

    def __missing__(self, token):
        # Quotes of either kind are the same.
        self[token] = _NAME if is_variable(token) else self._character(token.replace("'", '"'))
        return self[token]

    def _character(self, token):
        if token in self:
            return self[token]
        # The first two characters are kept for strangers and for variables.
        return _OTHER if self.closed else self.setdefault(token, chr(len(self) + 2))


def _bodies(source):
    """Name and tokens of every function of a module, methods included, docstrings and messages left out."""
    lines = source.split("\n")
    for node in ast.parse(source).body:
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef):
                inner = function.body[1 if ast.get_docstring(function) is not None else 0 :]
                if inner:
                    text = "\n".join(lines[inner[0].lineno - 1 : function.end_lineno])
                    tokens = tokens_of(_STRING.sub(_unlike_anything, text))
                    yield function.name, tokens[tokens[0] == "return" :]


def _unlike_anything(string):
    # A name in quotes is a key of a dict, and code; a sentence is not, and ends the stretch.
    return string[0] if string[1][1:-1].isidentifier() else " § "


def _share(length):
    return length if length <= SHORT else math.ceil(SHARE * length)


def _counts(ours, theirs):
    """Whether a stretch in common is long enough, and telling enough, to be one."""
    if len(ours) > SHORT or ours == theirs:
        return len(ours) >= SEED
    return len(ours) >= SEED and len({token for token in ours if token[0] == "." or token in _NAMED}) >= 3


def _places(shape):
    """Where SEED tokens begin among which none is a stranger, which no body holds."""
    for stretch in _STRETCH.finditer(shape):
        yield from range(stretch.start(), stretch.end() - SEED + 1)


def _common_prefix(ours, i, theirs, j):
    length = 0
    while i + length < len(ours) and j + length < len(theirs) and ours[i + length] == theirs[j + length] != _OTHER:
        length += 1
    return length


def _renamings(ours, theirs):
    """Cut two token lists of one shape where no one-to-one renaming of variables turns one into the other."""
    start = 0
    last_ours: dict[str, int] = {}
    last_theirs: dict[str, int] = {}
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        before_a, before_b = last_ours.get(a, -1), last_theirs.get(b, -1)
        if before_a != before_b and max(before_a, before_b) >= start:
            yield start, i
            start = max(before_a, before_b) + 1
        last_ours[a] = last_theirs[b] = i
    yield start, len(ours)


def _leak(runs):
    """Where in the text the runs of one body come to a leak of it, as a token number; None if they do not."""
    body = runs[0].body
    for run in runs:
        if run.length >= body.enough and body.gives_away(run.positions):
            return run.at
    pieces = sorted((run for run in runs if run.length >= PIECE), key=lambda run: run.at)
    reach = 60 + 4 * len(body.tokens)
    for i, first in enumerate(pieces):
        covered = {p for piece in pieces[i:] if piece.at <= first.at + reach for p in piece.positions}
        if len(covered) >= body.enough_in_pieces and body.gives_away(covered):
            return first.at
    return None
