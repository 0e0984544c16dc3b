"""What functions with one slip in them come to, as sketches for an exercise's key."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from threading import Lock

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.slips import slips
from check.calling import answer
from check.key import Case, Key
from check.sketches import sketch, sketched_cases

LARGE = 1000  # numbers in the inputs of a case
_silence = Lock()  # what one thread does to warnings, all see


class SketchesWhenAsked(Mapping[str, dict[str, np.ndarray]]):
    """What `sketches_of_slips` makes, made when something is first looked up: few answers come so far."""

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
    """Sketches of slips: in the reference and its rewrites, then in each mistake; those that come to the same, once.

    What takes long to ask is asked for slips of the reference alone.
    """
    cases = [key.cases[i] for i in sketched_cases(key)]
    if not cases:
        return {}
    known = np.array([[sketch(key, case, case.expected) for case in cases]])
    sources: dict[str, tuple[Callable, ...]] = {"": (exercise.reference,)}
    if cases[0].size <= LARGE:
        sources = {"": (exercise.reference, *exercise.equivalents.values())}
        sources |= {slug: (wrong,) for slug, (_, wrong) in exercise.mistakes.items()}
    rows: dict[str, dict[str, list]] = {}
    with _silence, warnings.catch_warnings(action="ignore"):
        for slug, functions in sources.items():
            for each in (slip for function in functions for slip in slips(function, cases[0].inputs)):
                row = _sketched(key, cases, each.function)
                if row is not None and not (np.abs(known - row) <= 1e-7 * (1 + np.abs(row))).all(axis=1).any():
                    known = np.vstack([known, row])
                    rows.setdefault(slug, {}).setdefault(each.words, []).append(row)
    return {slug: {words: np.stack(found) for words, found in each.items()} for slug, each in rows.items()}


def _sketched(key: Key, cases: list[Case], function: Callable) -> np.ndarray | None:
    row = []
    for case in cases:
        number = sketch(key, case, answer(function, case.inputs))
        if number is None:
            return None  # it says by its kind what is wrong, or raises
        row.append(number)
    return np.array(row)
