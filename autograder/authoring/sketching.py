"""Make sketches of the outcomes of functions with one slip, for an exercise's answer key."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from threading import Lock

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.slips import slips
from check.calling import answer
from check.key import Key
from check.sketches import sketch_row, sketched_cases

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
    Of several slips with the same values, the result contains one, and none with the values of the reference or of a
    known mistake. A mistake that has right values on the sketched cases gets no slips, because nothing shows it there.
    """
    cases = [key.cases[i] for i in sketched_cases(key)]
    if not cases:
        return {}
    known = [[case.expected for case in cases], *([case.mistakes[slug] for case in cases] for slug in key.mistakes)]
    known_rows = np.array([sketch_row(key, cases, outcomes) for outcomes in known])
    sources: dict[str, tuple[Callable, ...]] = {"": (exercise.reference,)}
    if cases[0].size <= LARGE_CASE:
        sources = {"": (exercise.reference, *exercise.equivalents.values())}
        visible = {
            slug
            for slug, row in zip(key.mistakes, known_rows[1:], strict=True)
            if not _equal_where_both_have_one(row, known_rows[0])
        }
        sources |= {slug: (wrong,) for slug, (_, wrong) in exercise.mistakes.items() if slug in visible}
    sketches: dict[str, dict[str, list[np.ndarray]]] = {}
    with _warnings_lock, warnings.catch_warnings(action="ignore"):
        for slug, functions in sources.items():
            for slip in (slip for function in functions for slip in slips(function, cases[0].inputs)):
                row = sketch_row(key, cases, (answer(slip.function, case.inputs) for case in cases))
                if not _equal_where_both_have_one(row, known_rows[0]) and not _is_known(row, known_rows):
                    known_rows = np.vstack([known_rows, row])
                    sketches.setdefault(slug, {}).setdefault(slip.words, []).append(row)
    return {slug: {words: np.stack(rows) for words, rows in by_words.items()} for slug, by_words in sketches.items()}


def _equal_where_both_have_one(row: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two rows differ in no case that has a sketch in both."""
    both = np.isfinite(row) & np.isfinite(other)
    return _is_known(row[both], other[None, both])


def _is_known(row: np.ndarray, known_rows: np.ndarray) -> bool:
    """Return whether a row is one of the known ones."""
    return bool(np.isclose(known_rows, row, 1e-7, 1e-7, equal_nan=True).all(axis=1).any())
