"""What a wrong array has to do with the right one, where no known mistake explains it: twice it, its transpose.

A relation is said only if it holds, to the last digit that counts, on every case that has wrong values; and only of
arrays that hold different numbers, since anything holds of zeros. No sentence holds an expected value.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from check.calling import Outcome
from check.comparing import TOLERANCES, difference, relative_error
from check.faults import judged_outputs
from check.key import Case, Key


def relation(key: Key, cases: Sequence[Case], outcomes: Sequence[Outcome]) -> str:
    """A sentence on the first output with wrong values that is true of all these cases; empty if none is.

    Args:
        key: the exercise's key.
        cases: cases whose values are wrong and whose shapes are right.
        outcomes: what they came to.
    """
    shared: dict[str, None] | None = None
    for case, outcome in zip(cases, outcomes, strict=True):
        outputs = judged_outputs(key, case.expected.value, outcome.value)
        wrong = next(((n, e, v) for n, e, v in outputs if difference(e, v, n, "", key.tolerance)), None)
        if wrong is None:
            continue
        name, expected, value = wrong
        others = {other: e for other, e, _ in outputs if other != name}
        if all(map(_telling, (expected, value))):
            found = dict.fromkeys(_relations(name, key.outputs[name].split(), expected, value, case.inputs, others))
        elif isinstance(expected, dict):
            found = dict.fromkeys(_taken_for(expected, value, case.inputs))
        else:
            continue
        shared = found if shared is None else {sentence: None for sentence in shared if sentence in found}
    return next(iter(shared or ()), "")


def _telling(array: Any) -> bool:
    """Whether an array says something: finite floats, at least three of them different."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not np.isfinite(array).all():
        return False
    return len(np.unique(array)) > 2 or not array.any()


def _relations(
    name: str,
    axes: Sequence[str],
    expected: np.ndarray,
    value: np.ndarray,
    inputs: dict[str, Any],
    others: dict[str, Any],
) -> Iterator[str]:
    """Every sentence that is true of one wrong array, what says most first."""
    if not value.any():
        yield f"`{name}` is zero everywhere."
    if not expected.any() or not value.any():
        return
    axis_name = _axis_names(axes, expected.ndim)
    for factor, words in _factors(axis_name, expected.shape, inputs):
        if _equal(factor * expected, value):
            yield f"`{name}` is {words}."
    if _proportional(expected, value):
        yield f"`{name}` is right but for one factor, the same for all entries."
    for other, array in others.items():
        if _equal(array, value):
            yield f"`{name}` is what `{other}` should be."
    for given, array in inputs.items():
        if _equal(array, value):
            yield f"`{name}` is `{given}`, unchanged."
        elif _equal(array, value - expected):
            yield f"`{name}` holds `{given}` once too often: take it away and it is right."
        elif _equal(array, expected - value):
            yield f"`{name}` lacks `{given}`: add it and it is right."
    if expected.ndim > 1 and _equal(np.swapaxes(expected, -1, -2), value):
        yield f"`{name}` is right but for its last two axes, which are exchanged."
    for axis, called in enumerate(axis_name):
        yield from _along(name, axis, called, axis_name, expected, value)


def _along(
    name: str, axis: int, called: str, names: Sequence[str], expected: np.ndarray, value: np.ndarray
) -> Iterator[str]:
    """What is true of one axis of a wrong array."""
    if expected.shape[axis] < 2:
        return
    if _equal(np.flip(expected, axis), value):
        yield f"`{name}` is right but for the order along {called}, which is reversed."
    places = [_equal_at(expected, value, axis, i) for i in range(expected.shape[axis])]
    if places[0] and not any(places[1:]):
        yield f"`{name}` is right at the first place along {called}, and wrong at all the others."
    if places[-1] and not any(places[:-1]):
        yield f"`{name}` is right at the last place along {called}, and wrong at all the others."
    if _equal(np.ones(()), expected.sum(axis)) and not _equal(np.ones(()), value.sum(axis)):
        wrong_way = [other for i, other in enumerate(names) if i != axis and _equal(np.ones(()), value.sum(i))]
        yield from (f"`{name}` adds up to one along {other}, and should along {called}." for other in wrong_way)
    if _proportional(expected, value, axis):
        yield f"`{name}` has the right proportions along {called}, and not the right size."
    if _constant(value - expected, axis):
        yield f"`{name}` has the right differences along {called}: a number is added to all of it."


def _taken_for(expected: dict, value: dict, inputs: dict[str, Any]) -> Iterator[str]:
    """Which input stands in a dict of tuples of sizes where the first wrong size is."""
    pairs = [
        pair
        for key, sizes in expected.items()
        if isinstance(sizes, tuple)
        for pair in zip(sizes, value[key], strict=True)
    ]
    wrong = next((v for e, v in pairs if e != v), None)
    for given, size in inputs.items():
        if type(size) is type(wrong) is int and size == wrong:
            yield f"It is `{given}`: another size belongs there."


def _factors(names: Sequence[str], shape: Sequence[int], inputs: dict[str, Any]) -> Iterator[tuple[float, str]]:
    """(factor, how it is called): -1, 2, one half, and what the sizes of the case come to."""
    yield -1.0, "minus what it should be"
    yield 2.0, "twice what it should be"
    yield 0.5, "half of what it should be"
    sizes = list(zip(names, shape, strict=True))
    for given, array in inputs.items():
        if isinstance(array, np.ndarray):
            place = {-1: "last", -2: "last but one", 0: "first"}
            sizes += [
                (f"the {place[i]} axis of `{given}`", array.shape[i]) for i in place if -array.ndim <= i < array.ndim
            ]
    for called, size in sizes:
        if size > 1:
            yield float(size), f"what it should be times the length of {called}"
            yield 1 / size, f"what it should be divided by the length of {called}"
            yield size**0.5, f"what it should be times the root of the length of {called}"
            yield size**-0.5, f"what it should be divided by the root of the length of {called}"


def _axis_names(axes: Sequence[str], ndim: int) -> list[str]:
    """What to call each axis of an array of so many."""
    named = [axis for axis in axes if axis != "..."]
    if len(named) > ndim:
        return [f"axis {i}" for i in range(ndim)]
    leading = ndim - len(named)
    return [f"batch axis {i}" if leading > 1 else "the batch" for i in range(leading)] + [f"`{each}`" for each in named]


def _equal(expected: Any, value: np.ndarray) -> bool:
    """Whether two arrays are equal up to the rounding of the coarser one; a scalar stands for an array of it."""
    if not isinstance(expected, np.ndarray) or expected.dtype.kind != "f" or not np.isfinite(expected).all():
        return False
    if expected.shape != value.shape and expected.ndim:
        return False
    allowed = max(TOLERANCES.get(array.dtype.name, 1e-9) for array in (expected, value))
    return bool((relative_error(np.broadcast_to(expected, value.shape), value) <= allowed).all())


def _equal_at(expected: np.ndarray, value: np.ndarray, axis: int, place: int) -> bool:
    return _equal(np.asarray(expected.take(place, axis)), np.asarray(value.take(place, axis)))


def _proportional(expected: np.ndarray, value: np.ndarray, axis: int | None = None) -> bool:
    """Whether one array is the other times a number, the same everywhere, or one for each place beside an axis."""
    largest = np.abs(expected).argmax(axis, keepdims=axis is not None)
    if axis is None:
        return _equal(expected * value.ravel()[largest], value * expected.ravel()[largest])
    one, other = (np.take_along_axis(array, largest, axis) for array in (value, expected))
    return _equal(expected * one, value * other)


def _constant(array: np.ndarray, axis: int) -> bool:
    """Whether an array is the same all along an axis."""
    return _equal(np.array(np.broadcast_to(array.take([0], axis), array.shape)), array)
