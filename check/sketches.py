"""Recognise wrong answers by sketches: one number for each case, a random weighted sum of all judged outputs.

A key holds sketches of the outcomes of right functions with one slip, on every case that can have one, because any case
may contradict a slip. An answer with the same sketches has the same values, however it is written. There are no
sketches of known mistakes with one more slip, because the slip often hides or undoes the mistake, and naming the
mistake would then be wrong.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from check.calling import Outcome
from check.faults import has_all_outputs, judged_outputs
from check.key import Case, Key
from check.values import Tree, has_structure_of, pack

TOLERANCE = 1e-8


def sketched_cases(key: Key) -> list[int]:
    """Return the indices of the sketched cases, which have float64 outputs."""
    return [i for i, case in enumerate(key.cases) if sketch(key, case, case.expected) is not None]


def sketch_row(key: Key, cases: Sequence[Case], outcomes: Iterable[Outcome]) -> np.ndarray:
    """Return the sketches of the outcomes of these cases; NaN for an outcome without a sketch."""
    sketches = (sketch(key, case, outcome) for case, outcome in zip(cases, outcomes, strict=True))
    return np.array([np.nan if number is None else number for number in sketches])


def sketch(key: Key, case: Case, outcome: Outcome) -> float | None:
    """Return one number for all judged outputs; None if they have another structure than expected or are not finite."""
    entries = _entries(key, case, outcome)
    if entries is None:
        return None
    expected, values = entries
    weights = np.random.default_rng(values.size).normal(size=values.size)
    return float(weights @ values / _largest(expected) / np.sqrt(values.size))


def _entries(key: Key, case: Case, outcome: Outcome) -> tuple[np.ndarray, np.ndarray] | None:
    """Return all entries of the judged outputs, expected and actual, or None if an outcome can have no sketch."""
    if outcome.raised or outcome.stopped or case.expected.raised:
        return None
    if len(key.outputs) > 1 and not has_all_outputs(key, outcome.value):
        return None
    outputs = judged_outputs(key, case.expected.value, outcome.value)
    if not all(has_structure_of(expected, value) for _, expected, value in outputs):
        return None
    expected_tree, expected = _packed([expected for _, expected, _ in outputs])
    tree, arrays = _packed([value for _, _, value in outputs])
    if tree != expected_tree or [array.shape for array in arrays] != [array.shape for array in expected]:
        return None
    if any(array.dtype != np.float64 for array in (*expected, *arrays)):
        return None
    right, values = (np.concatenate([np.zeros(0), *map(np.ravel, parts)]) for parts in (expected, arrays))
    return (right, values) if is_distinctive(right) and np.isfinite(values).all() else None


def _largest(entries: np.ndarray) -> float:
    return float(np.abs(entries).max(initial=0.0))


def _packed(values: list) -> tuple[Tree, list[np.ndarray]]:
    """Return the structure of the values and their arrays, with each float as an array of one entry."""
    return pack([np.float64(value) if type(value) is float else value for value in values])


def is_distinctive(array: np.ndarray) -> bool:
    """Return whether some entry is not a ratio of small integers, which different computations often share."""
    parts = 5040 * array[np.isfinite(array)]
    return bool((np.abs(parts - np.rint(parts)) > 1e-6).any())


def slip(key: Key, outcomes: Sequence[Outcome]) -> str:
    """Return the description of the slip in a right function that the outcomes show; "" if they show none."""
    pairs = [(key.cases[i], outcomes[i]) for i in sketched_cases(key)] if key.slips else []
    if not any(_has_telling_errors(key, case, outcome) for case, outcome in pairs):
        return ""
    row = sketch_row(key, [case for case, _ in pairs], [outcome for _, outcome in pairs])
    for description, rows in key.slips.items():
        if np.isclose(rows, row, TOLERANCE, TOLERANCE, equal_nan=True).all(axis=1).any():
            return description
    return ""


def _has_telling_errors(key: Key, case: Case, outcome: Outcome) -> bool:
    """Return whether an outcome has wrong entries that another function is unlikely to return."""
    entries = _entries(key, case, outcome)
    if entries is None:
        return False
    expected, values = entries
    return is_distinctive(values[np.abs(values - expected) > TOLERANCE * _largest(expected)])
