"""Make sketches of the outcomes of functions with one slip, for an exercise's answer key."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.slips import slips
from check.calling import Outcome, value_of
from check.key import Case, Key
from check.sketches import CaseSketches, sketch_row, sketched_cases

MOST_SLIPS = 2  # with more of them, a sentence would name almost any slip
LARGE_CASE = 1000  # entries in all input arrays; for larger cases, making all sketches takes too long
warnings_lock = Lock()  # because a change of the warning filters affects all threads


class Lazy(Mapping[str, Any]):
    """What a function returns for an exercise, a key and an answer, computed at the first access.

    Few answers need it. like: returns at least the part that an answer may match.
    """

    def __init__(
        self,
        make: Callable[[Exercise, Key, Sequence[Outcome] | None], Mapping[str, Any]],
        exercise: Exercise,
        key: Key,
        answer: Sequence[Outcome] | None = None,
    ) -> None:
        self._make, self._exercise, self._key, self._answer = make, exercise, key, answer

    def like(self, answer: Sequence[Outcome]) -> "Lazy":
        """Return at least the part that an answer may match. answer: its outcomes, one for each case."""
        return Lazy(self._make, self._exercise, self._key, answer)

    @cached_property
    def _made(self) -> Mapping[str, Any]:
        return self._make(self._exercise, self._key, self._answer)

    def __getitem__(self, description: str) -> Any:
        return self._made[description]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)


def sketches_of_slips(exercise: Exercise, key: Key, answer: Sequence[Outcome] | None = None) -> dict[str, np.ndarray]:
    """Return sketches of functions with one slip, in the form of `Key.slips`.

    The functions are the reference and the equivalents; if the cases are large, only the reference. Sketches with the
    values of the reference or of a known mistake are left out. If several slips have the same values, the words name
    each of them. A list of more than MOST_SLIPS would say nothing.

    answer: the outcomes of an answer, one for each case. If given, the result may lack sketches that the answer does
    not have.
    """
    sketched = sketched_cases(key)
    if not sketched:
        return {}
    cases = [key.cases[i] for i in sketched]
    rows_of = _Rows(key, cases, [answer[i] for i in sketched] if answer else ())
    rows = rows_of.right[None]
    names: list[list[str]] = [[]]  # the slips of each row, in words
    for slug in key.mistakes:
        if (row := rows_of.mistake(slug)) is not None:
            rows = np.vstack([rows, row])
            names.append([])
    functions = (exercise.reference, *(exercise.equivalents.values() if cases[0].size <= LARGE_CASE else ()))
    with warnings_lock, warnings.catch_warnings(action="ignore"):
        for slip in (slip for function in functions for slip in slips(function, cases[0].inputs)):
            row = rows_of.function(slip.function)
            if row is None or not _differ(row, rows_of.right):
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


class _Rows:
    """Makes a row of sketches for each function. One case is enough to rule out most functions.

    right: the row of the reference.
    """

    def __init__(self, key: Key, cases: Sequence[Case], answer: Sequence[Outcome]) -> None:
        """cases: those that have sketches. answer: its outcomes on them; () if the rows of all functions are wanted."""
        self._cases = [CaseSketches(key, case) for case in cases]
        self.right = sketch_row(self._cases, [case.expected for case in cases])
        self._wanted = sketch_row(self._cases, answer) if answer else np.zeros(0)
        wrong = [i for i in np.flatnonzero(np.isfinite(self._wanted)).tolist() if not self._has(i, self.right[i])]
        self._telling = min(wrong, key=lambda i: cases[i].size, default=None)

    def mistake(self, slug: str) -> np.ndarray | None:
        """Return the row of a known mistake; None if it is surely not the answer's."""
        return self._row(lambda case: case.mistakes[slug])

    def function(self, function: Callable) -> np.ndarray | None:
        """Return the row of a function; None if it is surely not the answer's."""
        return self._row(lambda case: value_of(function, case.inputs))

    def _row(self, outcome: Callable[[Case], Outcome]) -> np.ndarray | None:
        i = self._telling
        if i is not None and not self._has(i, self._cases[i].sketch(outcome(self._cases[i].case))):
            return None
        return sketch_row(self._cases, (outcome(sketches.case) for sketches in self._cases))

    def _has(self, i: int, number: float | None) -> bool:
        """Whether a sketch may be the answer's on a case. It tolerates more than `_differ`."""
        return number is not None and bool(abs(number - self._wanted[i]) <= 1e-6 + 1e-6 * abs(self._wanted[i]))


def _differ(row: np.ndarray, other: np.ndarray) -> bool:
    """Whether two rows differ in a case that has a sketch in both."""
    both = np.isfinite(row) & np.isfinite(other)
    return not _equal_rows(row[both], other[both])


def _equal_rows(rows: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Whether each of the rows is equal to another one, up to rounding."""
    return np.isclose(rows, row, 1e-7, 1e-7, equal_nan=True).all(axis=-1)
