"""Recognise inherited mistakes by fingerprints: one number for each case, of all judged outputs and their shapes.

A fingerprint is a random weighted sum of all entries, with booleans as 0 and 1, plus a number for the shapes and types.
An answer with a mistake's fingerprint in every case has the mistake's values, however it is written. Where the answer
has no fingerprint, the mistake must have none either.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from check.calling import Outcome
from check.faults import has_all_outputs, judged_outputs
from check.key import Case, Key
from check.sketches import CLOSE, equal_rows, is_distinctive
from check.values import has_structure_of, pack

MOST_TIMES_LARGER = 100  # how many times more entries an answer may have than is expected


def inherited_mistake(key: Key, outcomes: Sequence[Outcome]) -> str:
    """The slug of the inherited mistake whose fingerprints equal those of all outcomes; "" if there is none.

    outcomes: one for each case.
    """
    if not key.inherited or not any(map(is_telling, repeat(key), key.cases, outcomes)):
        return ""
    rows = np.concatenate([rows for _, rows in key.inherited.values()])
    slugs = [slug for slug, (_, rows) in key.inherited.items() for _ in rows]
    (equal,) = equal_rows(rows, fingerprints(key, outcomes)).nonzero()
    return slugs[equal[0]] if equal.size else ""


def is_telling(key: Key, case: Case, outcome: Outcome) -> bool:
    """Whether an outcome has wrong entries that another function is unlikely to return.

    Other functions often return whole numbers, zeros, NaN and texts, but seldom the same array of booleans.
    """
    parts = _parts_of(key, case, outcome)
    if parts is None:
        return False
    right, value = _arrays(_parts(_judged(key, case.expected.value))), _arrays(parts)
    if [array.shape for array in right] == [array.shape for array in value]:
        value = [entries[~_agree(expected, entries)] for expected, entries in zip(right, value, strict=True)]
    return any(
        (wrong.dtype == bool and wrong.size > 0) or (wrong.dtype == np.float64 and is_distinctive(wrong.ravel()))
        for wrong in value
    )


def fingerprints(key: Key, outcomes: Sequence[Outcome]) -> np.ndarray:
    """Return the fingerprint of each outcome. outcomes: one for each case."""
    return np.array([fingerprint(key, case, outcome) for case, outcome in zip(key.cases, outcomes, strict=True)])


def fingerprint(key: Key, case: Case, outcome: Outcome) -> float:
    """Return the fingerprint of an outcome; NaN if it has none.

    An outcome has none if it has no value, if coarser floats than float64 are expected, if the value's structure is not
    the expected one, or if the value is much larger.
    """
    parts = _parts_of(key, case, outcome)
    if parts is None:
        return np.nan
    rest = [(part.shape, part.dtype.kind) if isinstance(part, np.ndarray) else part for part in parts]
    expected = _flat(_arrays(_parts(_judged(key, case.expected.value))))
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0) or 1.0
    scaled = np.nan_to_num(_flat(_arrays(parts)) / largest, nan=1e3, posinf=2e3, neginf=-2e3)
    structure = zlib.crc32(repr(rest).encode()) / 2**32
    return float(_weights(scaled.size) @ scaled / np.sqrt(max(scaled.size, 1))) + structure


def has_fingerprint(key: Key, case: Case) -> bool:
    """Whether outcomes of a case can have fingerprints: it expects a value whose floats are float64."""
    return not case.expected.raised and case.rounding <= key.tolerance


def _parts_of(key: Key, case: Case, outcome: Outcome) -> list[Any] | None:
    """The parts of all judged outputs; None if the outcome has no fingerprint."""
    expected = case.expected.value
    if outcome.raised or outcome.stopped or not has_fingerprint(key, case):
        return None
    if len(key.outputs) > 1 and not (has_all_outputs(key, expected) and has_all_outputs(key, outcome.value)):
        return None
    judged = [_judged(key, value) for value in (expected, outcome.value)]
    if not has_structure_of(*judged):
        return None
    parts = list(_parts(judged[1]))
    most = MOST_TIMES_LARGER * sum(array.size for array in _arrays(_parts(judged[0])))
    return parts if sum(array.size for array in _arrays(parts)) <= most else None


def _judged(key: Key, value: Any) -> list[Any]:
    return [output for *_, output in judged_outputs(key, value, value)]


def _arrays(parts: Iterable[Any]) -> list[np.ndarray]:
    return [np.atleast_1d(part) for part in parts if isinstance(part, np.ndarray)]


def _agree(expected: np.ndarray, entries: np.ndarray) -> np.ndarray:
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    return np.isclose(entries, expected, 0, CLOSE * float(largest), equal_nan=True)


def _flat(arrays: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *(np.ravel(array).astype(np.float64) for array in arrays)])


def _parts(value: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of a value as arrays, and everything else as text."""
    if isinstance(value, bool | int | float | np.ndarray | np.generic) and np.asarray(value).dtype.kind in "biuf":
        yield np.asarray(value)
    elif isinstance(value, dict):
        for name in sorted(value):
            yield name
            yield from _parts(value[name])
    elif isinstance(value, tuple | list):
        yield str(len(value))
        for part in value:
            yield from _parts(part)
    else:
        yield str(pack(value)[0])


@lru_cache(maxsize=64)
def _weights(size: int) -> np.ndarray:
    return np.random.default_rng(size).normal(size=size)
