"""Find pairs of students whose code is more similar than the notebook, the solutions and the class explain.

Submissions are compared by their stretches of SEED tokens, as in Schleimer, Wilkerson and Aiken, "Winnowing" (2003). A
class is small enough to keep all of them. For a name that a student chose, only the distance to its previous use in the
stretch counts, so that renaming hides no copy. A stretch may be anywhere in the notebook, so that moving code to other
cells hides no copy either. Stretches that are known, or that many students have, are left out, because they show
nothing. This also keeps the work proportional to the size of the class.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from autograder.course.handout import Handout
from autograder.layout import REPO, chapter_names, number_and_word
from autograder.pages.class_report.entries import Entry
from autograder.release.secret_bodies import SEED
from autograder.release.tokens import is_variable, lines_of_tokens, tokens_of

# If more than a fifth of the class share a stretch, it shows nothing. This is the range of that limit, in students.
MIN_HOLDERS, MAX_HOLDERS = 3, 10
# A pair is listed from this many stretches in common on ...
MIN_COMMON = 60
# ... if they are this share of the stretches of the student who has fewer.
MIN_SHARE = 0.5
MAX_PAIRS = 20  # the most similar pairs
MAX_SOURCE = 30_000  # characters of one student's code; the rest is not compared

Digest = Callable[[tuple[str | int, ...]], int]

_DOCSTRING = re.compile(r'("""|\'\'\')(?:[^\\]|\\.)*?\1', re.DOTALL)

# Solutions name their modules before a function; students do not.
_MODULE = re.compile(rf"\b(?:{'|'.join(number_and_word(name)[1] for name in chapter_names())})\.")


@dataclass(frozen=True)
class Cell:
    """The code of a student in one cell. lines: each line, and whether the pair has it in common."""

    name: str
    lines: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Pair:
    """Two students with similar code.

    share: the share of stretches in common, among those of the student who has fewer.
    first, second: their cells with lines in common.
    """

    students: tuple[str, str]
    share: float
    first: tuple[Cell, ...]
    second: tuple[Cell, ...]


def similar_pairs(entries: Sequence[Entry], known: Iterable[str]) -> list[Pair]:
    """Return the pairs of students with similar code, at most MAX_PAIRS, the most similar first.

    known: code that every student may have: see `known_code`.
    """
    written = own_stretches(entries, known)
    holders: dict[int, list[int]] = defaultdict(list)
    for number, own in enumerate(written):
        for stretch in own:
            holders[stretch].append(number)
    rare = {stretch: numbers for stretch, numbers in holders.items() if len(numbers) <= max_holders(len(entries))}
    n_rare = Counter(number for numbers in rare.values() for number in numbers)
    n_common = Counter(pair for numbers in rare.values() for pair in combinations(numbers, 2))
    pairs: list[Pair] = []
    for (a, b), n in sorted(n_common.items(), key=lambda item: (-item[1], item[0])):
        if entries[a].team and entries[a].team == entries[b].team:
            continue  # they handed in one notebook
        share = n / min(n_rare[a], n_rare[b])
        if are_similar(n, share) and len(pairs) < MAX_PAIRS:
            common = {stretch for stretch in written[a] & written[b] if stretch in rare}
            one, other = entries[a], entries[b]
            pairs.append(
                Pair((one.student, other.student), share, marked_cells(one, common), marked_cells(other, common))
            )
    return pairs


def are_similar(n_common: int, share: float) -> bool:
    """Return whether two students share enough to be listed. share: as in `Pair`."""
    return n_common >= MIN_COMMON and share >= MIN_SHARE


def own_stretches(entries: Sequence[Entry], known: Iterable[str], digest: Digest = hash) -> list[set[int]]:
    """Return each student's stretches without those of known code. digest: as in `stretches`."""
    explained = {stretch for text in known for stretch in stretches(text, digest)}
    return [
        {stretch for _, text in code_of(entry) for stretch in stretches(text, digest)} - explained for entry in entries
    ]


def max_holders(n_students: int) -> int:
    """Return how many students of a class may have the same stretch before it shows nothing about two of them."""
    return min(MAX_HOLDERS, max(MIN_HOLDERS, n_students // 5))


def known_code(released: Handout) -> list[str]:
    """Return code that students may have in common.

    It is the released cells, all solutions, and the chapter's known mistakes and rewrites.
    """
    _, word = number_and_word(released.chapter)
    cells = [released.source(i) for i in range(len(released.cells)) if released.kind(i) == "code"]
    folders = REPO / "solutions", REPO / "autograder" / "exercises" / word
    files = [file for folder in folders for file in sorted(folder.glob("*.py"))]
    texts = (file.read_text(encoding="utf-8") for file in files)
    return [*cells, *(_MODULE.sub("", text) for text in texts)]


def code_of(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield name and source of each cell with a student's code, up to MAX_SOURCE characters in all."""
    remaining = MAX_SOURCE
    own_cells = {f"a cell of their own ({n})": source for n, source in enumerate(entry.own_cells, start=1)}
    for name, source in {**entry.sources, **own_cells}.items():
        yield name, source[:remaining]
        remaining -= min(remaining, len(source))


def _without_docstrings(text: str) -> str:
    """Return the text without docstrings, with every other line at its old number."""
    return _DOCSTRING.sub(lambda docstring: "\n" * docstring[0].count("\n"), text)


def _counts(token: str) -> bool:
    return token not in "()"


@cache
def _fixed(token: str) -> str | None:
    """Return a token as it counts; None for a name that the author chose."""
    return None if is_variable(token) else token.replace("'", '"')


def stretches(text: str, digest: Digest = hash) -> list[int]:
    """Return a hash of every SEED consecutive tokens, in order; a name that the author chose counts as a distance.

    Parentheses and kinds of quotes do not count. The distance is the number of tokens since the previous use of the
    name in the stretch, or 0.

    digest: the hash of a stretch. Python's `hash` is fast, but differs from process to process.
    """
    last_use: dict[str, int] = {}
    next_use: dict[int, int] = {}
    items: list[str | int] = []
    for position, token in enumerate(filter(_counts, tokens_of(_without_docstrings(text)))):
        fixed = _fixed(token)
        if fixed is None:
            last = last_use.get(token, position)
            last_use[token] = next_use[last] = position
            items.append(position - last)
        else:
            items.append(fixed)
    hashes = []
    for start in range(len(items) - SEED + 1):
        hashes.append(digest(tuple(items[start : start + SEED])))
        if start in next_use:  # in the next stretches, this becomes the first use
            items[next_use[start]] = 0
    return hashes


def marked_cells(entry: Entry, common: set[int], digest: Digest = hash) -> tuple[Cell, ...]:
    """Return the student's cells with common stretches, with their lines marked. digest: as in `stretches`."""
    cells = []
    for name, text in code_of(entry):
        code = _without_docstrings(text)
        tokens = zip(tokens_of(code), lines_of_tokens(code), strict=True)
        lines_of = [line for token, line in tokens if _counts(token)]
        starts = [start for start, stretch in enumerate(stretches(text, digest)) if stretch in common]
        marked = {line for start in starts for line in lines_of[start : start + SEED]}
        if marked:
            lines = text.split("\n")
            cells.append(Cell(name, tuple((line, n in marked) for n, line in enumerate(lines, start=1))))
    return tuple(cells)
