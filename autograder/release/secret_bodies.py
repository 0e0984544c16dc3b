"""Find the bodies of secret functions in a text, also with renamed variables, and distinguish them from mere idioms.

Code is compared as tokens, and docstrings do not count. Two stretches of tokens match if a one-to-one renaming of
variables turns one into the other. The names of NumPy and Python (`np.exp`, `axis`, `len`) must be the same in both.
See Baker, "Parameterized pattern matching", 1996.
"""

import ast
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from autograder.release.tokens import FIXED_NAMES, is_variable, lines_of_tokens, tokens_of

# Fewer than SEED tokens in common are an idiom: `x.max(axis=-1, keepdims=True)` has twelve.
SEED = 12
# A match counts as a piece of a body from this length on: a line or so.
PIECE = 14
# Up to this length a match is short: with renamed variables, it counts only if it has three names of NumPy or Python.
# A body of this length leaks only as a whole.
SHORT = 20
# Of a longer body, a leak is one match with this share of its tokens, or with this many tokens ...
SHARE = 0.7
ENOUGH = 40
# ... or several pieces with this many tokens together, with other text between them.
ENOUGH_IN_PIECES = 80

_STRING = re.compile(r"""[rbfuRBFU]{0,2}("([^"\\\n]|\\.)*"|'([^'\\\n]|\\.)*')""")
_VARIABLE, _UNKNOWN = "\1", "\0"
_KNOWN_STRETCH = re.compile(rf"[^{_UNKNOWN}]{{{SEED},}}")


@dataclass(eq=False)  # two methods of one file may have the same name, so a body equals only itself
class Body:
    """The code of one function.

    name, file: the function's name and its file.
    tokens: its tokens.
    shape: the same with one character for each token; see `_Shapes`.
    secret[i]: whether students do not have token i from elsewhere.
    """

    name: str
    file: str
    tokens: list[str]
    shape: str
    secret: list[bool] = field(default_factory=list)

    @property
    def enough(self) -> int:
        """How many tokens one match needs to be a leak."""
        return min(ENOUGH, _most_of(len(self.tokens)))

    @property
    def enough_in_pieces(self) -> int:
        """How many tokens several pieces need together to be a leak."""
        return min(ENOUGH_IN_PIECES, _most_of(len(self.tokens)))

    def most_secrets_are_in(self, positions: Iterable[int]) -> bool:
        """Return whether the tokens at these positions include most of the body's secret tokens."""
        return sum(self.secret[i] for i in positions) >= min(ENOUGH, SHARE * sum(self.secret)) > 0


@dataclass(frozen=True)
class Match:
    """A stretch of tokens that a text and a body have in common.

    body_start, text_start: the number of its first token in the body and in the text.
    """

    body: Body
    body_start: int
    text_start: int
    length: int

    @property
    def positions(self) -> range:
        """The numbers of the body's tokens that match."""
        return range(self.body_start, self.body_start + self.length)


class SecretBodies:
    """The bodies to search for.

    sources: file name -> Python source, every function of which is secret. known: texts that students have, such as
    stubs and earlier solutions. Their code is not secret.
    """

    def __init__(self, sources: dict[str, str], known: Iterable[str] = ()):
        self._shapes = _Shapes()
        self.bodies = [
            Body(name, file, tokens, self._shapes.shape_of(tokens))
            for file, source in sources.items()
            for name, tokens in _bodies(source)
            if len(tokens) >= SEED
        ]
        self._shapes.complete = True
        self._seeds: dict[str, list[tuple[Body, int]]] = {}
        for body in self.bodies:
            body.secret = [True] * len(body.tokens)
            for i in range(len(body.shape) - SEED + 1):
                self._seeds.setdefault(body.shape[i : i + SEED], []).append((body, i))
        for text in known:
            for match in list(self._matches(tokens_of(text))):
                start = match.body_start
                match.body.secret[start : start + match.length] = [False] * match.length

    def find(self, text: str) -> list[tuple[Body, int]]:
        """Return the bodies that a text gives away, each with the number of the line, from 1, where it begins."""
        by_body: dict[Body, list[Match]] = {}
        for match in self._matches(tokens_of(text)):
            by_body.setdefault(match.body, []).append(match)
        starts = {body: start for body, matches in by_body.items() if (start := _start_of_leak(matches)) is not None}
        if not starts:
            return []
        lines = lines_of_tokens(text)
        return [(body, lines[start]) for body, start in starts.items()]

    def _matches(self, tokens: list[str]) -> Iterator[Match]:
        """Yield every match of a text's tokens with a body that is long enough to be more than an idiom."""
        shape = self._shapes.shape_of(tokens)
        matched_up_to: dict[tuple[Body, int], int] = {}
        for text_start in _possible_seeds(shape):
            for body, body_start in self._seeds.get(shape[text_start : text_start + SEED], ()):
                diagonal = (body, text_start - body_start)
                if text_start < matched_up_to.get(diagonal, 0):
                    continue
                length = _common_prefix(body.shape, body_start, shape, text_start)
                matched_up_to[diagonal] = text_start + length
                of_body = body.tokens[body_start : body_start + length]
                of_text = tokens[text_start : text_start + length]
                for first, end in _split_into_renamings(of_body, of_text):
                    if _is_match(of_body[first:end], of_text[first:end]):
                        yield Match(body, body_start + first, text_start + first, end - first)


class _Shapes(dict[str, str]):
    """Token -> character: the same one for all variables, and a different one for every other token of a body.

    complete: whether all bodies are in it. From then on, every new token gets the same character: it is in no body.
    """

    complete = False

    def shape_of(self, tokens: Iterable[str]) -> str:
        """Return the characters of the tokens."""
        return "".join(map(self.__getitem__, tokens))

    def __missing__(self, token: str) -> str:
        # Both kinds of quotes are the same.
        self[token] = _VARIABLE if is_variable(token) else self._character(token.replace("'", '"'))
        return self[token]

    def _character(self, token: str) -> str:
        if token in self:
            return self[token]
        # The first two characters are _UNKNOWN and _VARIABLE.
        return _UNKNOWN if self.complete else self.setdefault(token, chr(len(self) + 2))


def _bodies(source: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the tokens of every function of a module, including methods, without docstrings and messages.

    A `return` at the beginning is left out too, because a text may assign the value to a variable.
    """
    lines = source.split("\n")
    for node in ast.parse(source).body:
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef):
                statements = function.body[1 if ast.get_docstring(function) is not None else 0 :]
                if statements:
                    text = "\n".join(lines[statements[0].lineno - 1 : function.end_lineno])
                    tokens = tokens_of(_STRING.sub(_without_message, text))
                    yield function.name, tokens[tokens[0] == "return" :]


def _without_message(string: re.Match[str]) -> str:
    # A name in quotes is a dictionary key, and so code. A sentence is a message; the character ends the match there.
    return string[0] if string[1][1:-1].isidentifier() else " § "


def _most_of(length: int) -> int:
    """Return how many tokens make up most of a body: all of them if the body is short."""
    return length if length <= SHORT else math.ceil(SHARE * length)


def _is_match(of_body: Sequence[str], of_text: Sequence[str]) -> bool:
    """Return whether equal stretches of tokens are long enough for a match, and specific enough if they are short."""
    if len(of_body) > SHORT or of_body == of_text:
        return len(of_body) >= SEED
    names = {token for token in of_body if token[0] == "." or token in FIXED_NAMES}
    return len(of_body) >= SEED and len(names) >= 3


def _possible_seeds(shape: str) -> Iterator[int]:
    """Yield every position of a text's shape where SEED tokens begin that each occur in some body."""
    for stretch in _KNOWN_STRETCH.finditer(shape):
        yield from range(stretch.start(), stretch.end() - SEED + 1)


def _common_prefix(body: str, i: int, text: str, j: int) -> int:
    """Return how many characters a body's shape from i on and a text's shape from j on have in common."""
    length = 0
    while i + length < len(body) and j + length < len(text) and body[i + length] == text[j + length] != _UNKNOWN:
        length += 1
    return length


def _split_into_renamings(of_body: Sequence[str], of_text: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Split two token lists of one shape wherever a one-to-one renaming ends; yield the start and end of each part."""
    start = 0
    last_of_body: dict[str, int] = {}
    last_of_text: dict[str, int] = {}
    for i, (a, b) in enumerate(zip(of_body, of_text, strict=True)):
        last_a, last_b = last_of_body.get(a, -1), last_of_text.get(b, -1)
        if last_a != last_b and max(last_a, last_b) >= start:
            yield start, i
            start = max(last_a, last_b) + 1
        last_of_body[a] = last_of_text[b] = i
    yield start, len(of_body)


def _start_of_leak(matches: Sequence[Match]) -> int | None:
    """Return the number of the text's token where the matches of one body begin to be a leak; None if they are not.

    One long match is a leak, and so are several pieces that are near each other in the text.
    """
    body = matches[0].body
    for match in matches:
        if match.length >= body.enough and body.most_secrets_are_in(match.positions):
            return match.text_start
    pieces = sorted((match for match in matches if match.length >= PIECE), key=lambda match: match.text_start)
    reach = 60 + 4 * len(body.tokens)
    for i, first in enumerate(pieces):
        near = [piece for piece in pieces[i:] if piece.text_start <= first.text_start + reach]
        covered = {position for piece in near for position in piece.positions}
        if len(covered) >= body.enough_in_pieces and body.most_secrets_are_in(covered):
            return first.text_start
    return None
