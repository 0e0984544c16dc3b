"""Pairs of submissions that have more code in common than the notebook, the solutions and the class explain.

Compared are all stretches of SEED tokens, as in Schleimer, Wilkerson and Aiken's "Winnowing" (2003), of which a class
is small enough to keep every one. Names that somebody chose count only by where they come again within a stretch, so a
copy with other names is found; stretches are looked up wherever they stand, so a copy in other cells is, too. What is
known, or what many hand in, says nothing and is left out; that also keeps the work in proportion to the class.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from autograder.course.handout import Handout
from autograder.house import HOUSE, chapter_names, number_and_word
from autograder.pages.class_report.entries import Entry
from autograder.release.fingerprints import SEED
from autograder.release.tokens import is_variable, lines_of_tokens, tokens_of

MANY, FEW = 10, 3  # what more than a fifth of the class have in common is everybody's; not beyond these bounds
LEAST = 60  # stretches in common, from which on a pair is listed ...
SHARE = 0.5  # ... if they are this share of what is the one's or the other's own
TOP = 20  # pairs, those with most in common first
MAX_SOURCE = 30_000  # characters of one student that are compared

_DOCSTRING = re.compile(r'("""|\'\'\')(?:[^\\]|\\.)*?\1', re.DOTALL)

_MODULE = re.compile(rf"\b(?:{'|'.join(number_and_word(name)[1] for name in chapter_names())})\.")  # students name none


@dataclass(frozen=True)
class Cell:
    """What one of a pair wrote in one cell. lines: each with whether it is in common."""

    name: str
    lines: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Pair:
    """Two students. share: of the own code of the one who has less, how much the other has too.

    first, second: their cells with something in common.
    """

    students: tuple[str, str]
    share: float
    first: tuple[Cell, ...]
    second: tuple[Cell, ...]


def alike(entries: Sequence[Entry], known: Iterable[str]) -> list[Pair]:
    """The pairs that are alike, those with most in common first, no more than TOP.

    known: code that every student may have, the released notebook's and the solutions'.
    """
    explained = {stretch for text in known for stretch in _stretches(text)}
    written = [{stretch for _, text in _cells(entry) for stretch in _stretches(text)} - explained for entry in entries]
    holders: dict[int, list[int]] = defaultdict(list)
    for number, stretches in enumerate(written):
        for stretch in stretches:
            holders[stretch].append(number)
    rare = {stretch: of for stretch, of in holders.items() if len(of) <= everybodys(len(entries))}
    own = Counter(number for of in rare.values() for number in of)
    shared = Counter(pair for of in rare.values() for pair in combinations(of, 2))
    found: list[Pair] = []
    for (a, b), number in sorted(shared.items(), key=lambda each: (-each[1], each[0])):
        share = number / min(own[a], own[b])
        if number >= LEAST and share >= SHARE and len(found) < TOP:
            common = {stretch for stretch in written[a] & written[b] if stretch in rare}
            one, other = entries[a], entries[b]
            found.append(Pair((one.student, other.student), share, _marked(one, common), _marked(other, common)))
    return found


def everybodys(n_students: int) -> int:
    """How many students of a class may have something in common that is not everybody's."""
    return min(MANY, max(FEW, n_students // 5))


def known_code(released: Handout) -> list[str]:
    """The code that says nothing: the released cells, all solutions, and the chapter's mistakes and rewrites."""
    _, word = number_and_word(released.chapter)
    cells = [released.source(i) for i in range(len(released.cells)) if released.kind(i) == "code"]
    folders = HOUSE / "solutions", HOUSE / "autograder" / "exercises" / word
    files = [file for folder in folders for file in sorted(folder.glob("*.py"))]
    texts = (file.read_text(encoding="utf-8") for file in files)
    return [*cells, *(_MODULE.sub("", text) for text in texts)]


def _cells(entry) -> Iterator[tuple[str, str]]:
    """Name and source of each cell that a student wrote code in, as far as there is room."""
    room = MAX_SOURCE
    own = {f"a cell of their own ({n})": source for n, source in enumerate(entry.own, start=1)}
    for name, source in {**entry.sources, **own}.items():
        yield name, source[:room]
        room -= min(room, len(source))


def _code(text):
    """The text without docstrings, line by line as it was."""
    return _DOCSTRING.sub(lambda found: "\n" * found[0].count("\n"), text)


def _tokens(text):
    """The tokens of a text's code, each with its line; parentheses and kinds of quotes are a matter of taste."""
    code = _code(text)
    tokens = zip(tokens_of(code), lines_of_tokens(code), strict=True)
    return [(token.replace("'", '"'), line) for token, line in tokens if token not in "()"]


def _stretches(text) -> list[int]:
    """Every SEED tokens on end, as a hash; a chosen name is how many tokens ago it stood there too, or 0."""
    tokens = _tokens(text)
    last: dict[str, int] = {}
    back: list[str | int] = []
    for at, (token, _) in enumerate(tokens):
        if is_variable(token):
            back.append(at - last.get(token, at))
            last[token] = at
        else:
            back.append(token)
    windows = (back[start : start + SEED] for start in range(len(back) - SEED + 1))
    return [
        hash(tuple(0 if isinstance(each, int) and each > i else each for i, each in enumerate(window)))
        for window in windows
    ]


def _marked(entry, common) -> tuple[Cell, ...]:
    """The cells with something in common, and which lines it stands on."""
    cells = []
    for name, text in _cells(entry):
        at = [line for _, line in _tokens(text)]
        starts = [start for start, stretch in enumerate(_stretches(text)) if stretch in common]
        marked = {line for start in starts for line in at[start : start + SEED]}
        if marked:
            lines = text.split("\n")
            cells.append(Cell(name, tuple((line, n in marked) for n, line in enumerate(lines, start=1))))
    return tuple(cells)
