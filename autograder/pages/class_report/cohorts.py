"""Compare a class with earlier ones, of which only fingerprints are kept: hashes of code, and no code, name or id."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from autograder.course.files import write_atomically
from autograder.errors import UserError, named_by_user
from autograder.pages.class_report.alike import (
    MAX_PAIRS,
    Cell,
    are_similar,
    marked_cells,
    max_holders,
    own_stretches,
)
from autograder.pages.class_report.entries import Entry

# For each student of a class, in an order that does not reveal who they are: hashes of the stretches of their code.
Prints = list[list[int]]


@dataclass(frozen=True)
class Earlier:
    """A student with code like that of an earlier class. cohort: its file. share, cells: as in `alike.Pair`."""

    student: str
    cohort: str
    share: float
    cells: tuple[Cell, ...]


class Cohort(msgspec.Struct):
    """The fingerprints of a class in one chapter, as a file keeps them."""

    chapter: str
    students: Prints


def save_cohort(path: Path, chapter: str, entries: Sequence[Entry], known: Iterable[str]) -> None:
    """Write the fingerprints of a class. known: code that every student may have. Raises UserError."""
    students = [sorted(own) for own in own_stretches(entries, known, stable_hash)]
    content = msgspec.json.encode(Cohort(chapter, sorted(students))).decode()
    with named_by_user(path):
        write_atomically(path, content, mode=0o600)


def load_cohort(path: Path, chapter: str) -> Prints:
    """Return the fingerprints in a file. Raises UserError if it has none of this chapter."""
    with named_by_user(path):
        content = path.read_bytes()
    try:
        cohort = msgspec.json.decode(content, type=Cohort)
    except msgspec.DecodeError as error:
        raise UserError(f"{path} is not a file that --save-fingerprints wrote: {error}") from error
    if cohort.chapter != chapter:
        raise UserError(f"{path} has fingerprints of {cohort.chapter}, not of {chapter}")
    return cohort.students


def like_earlier(entries: Sequence[Entry], known: Iterable[str], cohorts: Mapping[str, Prints]) -> list[Earlier]:
    """Return the students with code like an earlier class's, at most MAX_PAIRS, the most similar first.

    cohorts: name of the file -> fingerprints.
    """
    own = own_stretches(entries, known, stable_hash) if cohorts else []
    common_now = _frequent(own)
    matches: list[tuple[int, Earlier]] = []
    for name, students in cohorts.items():
        frequent = common_now | _frequent(students)
        earlier = [set(prints) - frequent for prints in students]
        holders: dict[int, list[int]] = defaultdict(list)  # each stretch has few holders: see `_frequent`
        for number, prints in enumerate(earlier):
            for stretch in prints:
                holders[stretch].append(number)
        for entry, stretches_now in zip(entries, own, strict=True):
            rare = stretches_now - frequent
            n_common = Counter(number for stretch in rare for number in holders.get(stretch, ()))
            if not n_common:
                continue
            closest = earlier[min(n_common, key=lambda number: (-n_common[number], number))]
            common = rare & closest
            share = len(common) / min(len(rare), len(closest))
            if are_similar(len(common), share):
                cells = marked_cells(entry, common, stable_hash)
                matches.append((len(common), Earlier(entry.student, name, share, cells)))
    return [match for _, match in sorted(matches, key=lambda item: -item[0])[:MAX_PAIRS]]


def stable_hash(window: tuple[str | int, ...]) -> int:
    """Return a hash that is the same in every process. 53 bits are a number in any JSON reader."""
    return int.from_bytes(hashlib.blake2b(repr(window).encode(), digest_size=8).digest()) >> 11


def _frequent(students: Sequence[Iterable[int]]) -> set[int]:
    """Return the stretches that so many students of a class share that they are not evidence of copying."""
    holders = Counter(stretch for own in students for stretch in own)
    return {stretch for stretch, number in holders.items() if number > max_holders(len(students))}
