"""Make sketches of the outcomes of functions with one slip, for an exercise's answer key."""

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from threading import Lock

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.slips import slips
from check.calling import answer
from check.key import Key
from check.sketches import sketch_row, sketched_cases

MOST_SLIPS = 2  # with more of them, a sentence would name almost any slip
LARGE_CASE = 1000  # entries in all input arrays; for larger cases, making all sketches takes too long
_warnings_lock = Lock()  # because a change of the warning filters affects all threads


class LazySketches(Mapping[str, np.ndarray]):
    """The result of `sketches_of_slips`, computed at the first access, because few answers need it."""

    def __init__(self, exercise: Exercise, key: Key) -> None:
        self._exercise, self._key = exercise, key

    @cached_property
    def _sketches(self) -> dict[str, np.ndarray]:
        return sketches_of_slips(self._exercise, self._key)

    def __getitem__(self, description: str) -> np.ndarray:
        return self._sketches[description]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sketches)

    def __len__(self) -> int:
        return len(self._sketches)


def sketches_of_slips(exercise: Exercise, key: Key) -> dict[str, np.ndarray]:
    """Return sketches of functions with one slip, in the form of `Key.slips`.

    The functions are the reference and the equivalents; if the cases are large, only the reference. Sketches with the
    values of the reference or of a known mistake are left out. Where several slips have the same values, the words name
    each of them; with more than MOST_SLIPS, they would say nothing.
    """
    cases = [key.cases[i] for i in sketched_cases(key)]
    if not cases:
        return {}
    known = [[case.expected for case in cases], *([case.mistakes[slug] for case in cases] for slug in key.mistakes)]
    rows = np.array([sketch_row(key, cases, outcomes) for outcomes in known])
    right = rows[0]
    names: list[list[str]] = [[] for _ in rows]  # of each row: the slips in words
    functions = (exercise.reference, *(exercise.equivalents.values() if cases[0].size <= LARGE_CASE else ()))
    with _warnings_lock, warnings.catch_warnings(action="ignore"):
        for slip in (slip for function in functions for slip in slips(function, cases[0].inputs)):
            row = sketch_row(key, cases, (answer(slip.function, case.inputs) for case in cases))
            if not _differ(row, right):
                continue
            equal = np.flatnonzero(_equal_rows(rows, row))
            if not equal.size:
                rows = np.vstack([rows, row])
                names.append([slip.words])
            elif (words := names[equal[0]]) and slip.words not in words:
                words.append(slip.words)
    sketches: dict[str, list[np.ndarray]] = {}
    for row, words in zip(rows, names, strict=True):
        if 0 < len(words) <= MOST_SLIPS:
            sketches.setdefault(", or ".join(words), []).append(row)
    return {words: np.stack(rows) for words, rows in sketches.items()}


def _differ(row: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two rows differ in a case that has a sketch in both."""
    both = np.isfinite(row) & np.isfinite(other)
    return not _equal_rows(row[both], other[both])


def _equal_rows(rows: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return whether each of the rows is equal to another one, up to rounding."""
    return np.isclose(rows, row, 1e-7, 1e-7, equal_nan=True).all(axis=-1)
