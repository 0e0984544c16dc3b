"""Recognise wrong answers by sketches: one number for each case, a random weighted sum of all judged outputs.

A key holds sketches of the outcomes of right functions with one slip, on every case that can have one, because any case
may contradict a slip. An answer with the same sketches has the same values, however it is written. There are no
sketches of known mistakes with one more slip, because the slip often hides or undoes the mistake, and naming the
mistake would then be wrong.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from check.calling import Outcome
from check.faults import has_all_outputs, judged_outputs
from check.key import Case, Key
from check.values import pack

CLOSE = 1e-8  # as a share; sketches and fingerprints that differ less are the same


class CaseSketches:
    """Makes sketches of outcomes of one case. What they have in common is computed once."""

    def __init__(self, key: Key, case: Case) -> None:
        self.key, self.case = key, case

    def sketch(self, outcome: Outcome) -> float | None:
        """Return one number for all judged outputs; None if `entries` returns None."""
        values = self.entries(outcome)
        if values is None:
            return None
        return float(self._weights @ values / self.largest / np.sqrt(values.size))

    def entries(self, outcome: Outcome) -> np.ndarray | None:
        """Return all entries of the judged outputs, or None if an outcome can have no sketch.

        An outcome has none if its outputs are not finite or differ in structure from the expected ones, or if no
        outcome of this case can have one.
        """
        if self._outputs is None or outcome.raised or outcome.stopped:
            return None
        if len(self.key.outputs) > 1 and not has_all_outputs(self.key, outcome.value):
            return None
        arrays = _arrays(self._outputs, _judged(self.key, self.case.expected.value, outcome.value))
        values = None if arrays is None else _flat(arrays)
        return None if values is None or not np.isfinite(values).all() else values

    @cached_property
    def right(self) -> np.ndarray:
        """All entries of the expected outputs; empty if these have no sketch."""
        return _flat((self._outputs and _arrays(self._outputs, self._outputs)) or [])

    @cached_property
    def largest(self) -> float:
        """The largest absolute entry of the expected outputs."""
        return float(np.abs(self.right).max(initial=0.0))

    @cached_property
    def _outputs(self) -> list | None:
        """The judged outputs that are expected; None if they can have no sketch."""
        value = self.case.expected.value
        if self.case.expected.raised or (len(self.key.outputs) > 1 and not has_all_outputs(self.key, value)):
            return None
        outputs = _judged(self.key, value, value)
        arrays = _arrays(outputs, outputs)
        return outputs if arrays is not None and is_distinctive(_flat(arrays)) else None

    @cached_property
    def _weights(self) -> np.ndarray:
        return np.random.default_rng(self.right.size).normal(size=self.right.size)


def sketched_cases(key: Key) -> list[int]:
    """Return the indices of the sketched cases, which have float64 outputs."""
    return [i for i, case in enumerate(key.cases) if CaseSketches(key, case).entries(case.expected) is not None]


def sketch_row(cases: Iterable[CaseSketches], outcomes: Iterable[Outcome]) -> np.ndarray:
    """Return the sketches of the outcomes of these cases; NaN for an outcome without a sketch."""
    sketches = (case.sketch(outcome) for case, outcome in zip(cases, outcomes, strict=True))
    return np.array([np.nan if number is None else number for number in sketches])


def _flat(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *map(np.ravel, arrays)])


def _judged(key: Key, expected: Any, value: Any) -> list:
    """The judged outputs of a value, with each float as an array of one entry."""
    outputs = (output for *_, output in judged_outputs(key, expected, value))
    return [np.array(output) if type(output) is float else output for output in outputs]


def _arrays(expected: Any, value: Any) -> list[np.ndarray] | None:
    """The arrays of a tree; None if it differs from the expected one in anything but entries of float64."""
    if isinstance(expected, np.ndarray):
        is_array = type(value) is np.ndarray or isinstance(value, np.generic)
        fits = is_array and expected.dtype == value.dtype == np.float64 and expected.shape == value.shape
        return [value] if fits else None
    if isinstance(expected, dict):
        fits = type(value) is dict and list(value) == list(expected)
        return _arrays(list(expected.values()), list(value.values())) if fits else None
    if not isinstance(expected, tuple | list):
        return [] if pack(expected)[0] == pack(value)[0] else None
    if not isinstance(value, tuple if isinstance(expected, tuple) else list) or len(value) != len(expected):
        return None
    arrays = []
    for pair in zip(expected, value, strict=True):
        inner = _arrays(*pair)
        if inner is None:
            return None
        arrays += inner
    return arrays


def is_distinctive(array: np.ndarray) -> bool:
    """Whether some entry is not a ratio of small integers, which different computations often share."""
    parts = 5040 * array[np.isfinite(array)]
    return bool((np.abs(parts - np.rint(parts)) > 1e-6).any())


def slip(key: Key, outcomes: Sequence[Outcome]) -> str:
    """Return the description of the slip in a right function that the outcomes show; "" if they show none."""
    sketched = sketched_cases(key) if key.slips else []
    cases = [CaseSketches(key, key.cases[i]) for i in sketched]
    answers = [outcomes[i] for i in sketched]
    if not any(map(_has_telling_errors, cases, answers)):
        return ""
    row = sketch_row(cases, answers)
    for description, rows in key.slips.items():
        if equal_rows(rows, row).any():
            return description
    return ""


def equal_rows(rows: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Which of the rows equal one row, up to rounding."""
    return np.isclose(rows, row, CLOSE, CLOSE, equal_nan=True).all(axis=-1)


def _has_telling_errors(case: CaseSketches, outcome: Outcome) -> bool:
    """Whether an outcome has wrong entries that another function is unlikely to return."""
    values = case.entries(outcome)
    return values is not None and is_distinctive(values[np.abs(values - case.right) > CLOSE * case.largest])
