"""Make sketches of the outcomes of functions with one slip, for an exercise's answer key."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from threading import Lock

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.slips import Slip, slips
from check.calling import answer
from check.key import Case, Key
from check.sketches import sketch_row, sketched_cases

MOST_SLIPS = 2  # with more of them, a sentence would name almost any slip
LARGE_CASE = 1000  # entries in all input arrays; for larger cases, making all sketches takes too long
_warnings_lock = Lock()  # because a change of the warning filters affects all threads


class LazySketches(Mapping[str, dict[str, np.ndarray]]):
    """The result of `sketches_of_slips`, computed at the first access, because few answers need it."""

    def __init__(self, exercise: Exercise, key: Key) -> None:
        self._exercise, self._key = exercise, key

    @cached_property
    def _sketches(self) -> dict[str, dict[str, np.ndarray]]:
        return sketches_of_slips(self._exercise, self._key)

    def __getitem__(self, slug: str) -> dict[str, np.ndarray]:
        return self._sketches[slug]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sketches)

    def __len__(self) -> int:
        return len(self._sketches)


def sketches_of_slips(exercise: Exercise, key: Key) -> dict[str, dict[str, np.ndarray]]:
    """Return sketches of functions with one slip, in the form of `Key.slips`.

    The functions are the reference, the equivalents and the known mistakes; if the cases are large, only the reference.
    Sketches with the values of the reference or of a known mistake are left out. Where several slips have the same
    values, a right function comes before a mistake, two mistakes prove neither, and the words name each slip; with more
    than MOST_SLIPS of them, they would say nothing.
    """
    cases = [key.cases[i] for i in sketched_cases(key)]
    if not cases:
        return {}
    known = [[case.expected for case in cases], *([case.mistakes[slug] for case in cases] for slug in key.mistakes)]
    rows = np.array([sketch_row(key, cases, outcomes) for outcomes in known])
    right, mistakes = rows[0], dict(zip(key.mistakes, rows[1:], strict=True))
    origins: list[dict[str, list[str]]] = [{} for _ in rows]  # of each row: slug -> the slips in words
    with _warnings_lock, warnings.catch_warnings(action="ignore"):
        for slug, slip in _slips(exercise, cases[0], right, mistakes):
            row = sketch_row(key, cases, (answer(slip.function, case.inputs) for case in cases))
            if not _differ(row, right) or (slug and not _shows(row, right, mistakes[slug])):
                continue
            equal = np.flatnonzero(_equal_rows(rows, row))
            if not equal.size:
                rows = np.vstack([rows, row])
                origins.append({slug: [slip.words]})
            elif (origin := origins[equal[0]]) and slip.words not in origin.setdefault(slug, []):
                origin[slug].append(slip.words)
    sketches: dict[str, dict[str, list[np.ndarray]]] = {}
    for row, origin in zip(rows, origins, strict=True):
        slugs = [""] if "" in origin else list(origin)
        if len(slugs) == 1 and len(words := origin[slugs[0]]) <= MOST_SLIPS:
            sketches.setdefault(slugs[0], {}).setdefault(", or ".join(words), []).append(row)
    return {slug: {words: np.stack(rows) for words, rows in by_words.items()} for slug, by_words in sketches.items()}


def _slips(
    exercise: Exercise, case: Case, right: np.ndarray, mistakes: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, Slip]]:
    """Yield each slip, with "" or the slug of the mistake that it is made in.

    A mistake must show, and a slip in it must leave all of it in place.

    case: its inputs show the values of a function's variables. right, mistakes: the known sketches.
    """
    functions = (exercise.reference, *(exercise.equivalents.values() if case.size <= LARGE_CASE else ()))
    yield from (("", slip) for function in functions for slip in slips(function, case.inputs))
    if case.size <= LARGE_CASE:
        visible = [slug for slug in exercise.mistakes if _differ(mistakes[slug], right)]
        made = ((slug, slip) for slug in visible for slip in slips(exercise.mistakes[slug][1], case.inputs))
        yield from ((slug, slip) for slug, slip in made if slip.is_complete)


def _shows(row: np.ndarray, right: np.ndarray, mistake: np.ndarray) -> bool:
    """Return whether a mistake differs from the right function on a case that has a sketch in the row."""
    return _differ(mistake[np.isfinite(row)], right[np.isfinite(row)])


def _differ(row: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two rows differ in a case that has a sketch in both."""
    both = np.isfinite(row) & np.isfinite(other)
    return not _equal_rows(row[both], other[both])


def _equal_rows(rows: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return whether each of the rows is equal to another one, up to rounding."""
    return np.isclose(rows, row, 1e-7, 1e-7, equal_nan=True).all(axis=-1)
