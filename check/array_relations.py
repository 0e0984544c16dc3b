"""Find what is true of one wrong array: sentences that relate it to the right array and to the inputs.

No sentence contains an expected value.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from check.comparing import TOLERANCES, relative_error


def is_distinctive(array: Any) -> bool:
    """Return whether an array can prove a relation: finite floats with at least three different values, or all zero."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not np.isfinite(array).all():
        return False
    return len(np.unique(array)) > 2 or not array.any()


def relations_of_array(
    name: str,
    axes: Sequence[str],
    expected: np.ndarray,
    value: np.ndarray,
    inputs: dict[str, Any],
    others: dict[str, Any],
) -> Iterator[str]:
    """Yield every sentence that is true of one wrong array, the most informative first."""
    if not value.any():
        yield f"`{name}` is zero everywhere."
    if not expected.any() or not value.any():
        return
    axis_names = _axis_names(axes, expected.ndim)
    for factor, words in _factors(axis_names, expected.shape, inputs):
        if _equal(factor * expected, value):
            yield f"`{name}` is {words}."
    if _proportional(expected, value):
        yield f"`{name}` is right except for one factor, the same for all entries."
    for other, array in others.items():
        if _equal(array, value):
            yield f"`{name}` is what `{other}` should be."
    for argument, array in inputs.items():
        if _equal(array, value):
            yield f"`{name}` is `{argument}`, unchanged."
        elif _equal(array, value - expected):
            yield f"`{name}` contains `{argument}` once too often: subtract it and it is right."
        elif _equal(array, expected - value):
            yield f"`{name}` lacks `{argument}`: add it and it is right."
    if expected.ndim > 1 and _equal(np.swapaxes(expected, -1, -2), value):
        yield f"`{name}` is right except that its last two axes are exchanged."
    for axis in range(expected.ndim):
        yield from _along(name, axis, axis_names, expected, value)


def _along(name: str, axis: int, axis_names: Sequence[str], expected: np.ndarray, value: np.ndarray) -> Iterator[str]:
    """Yield the sentences that are true along one axis of a wrong array."""
    axis_name = axis_names[axis]
    if expected.shape[axis] < 2:
        return
    if _equal(np.flip(expected, axis), value):
        yield f"`{name}` is right except that the order along {axis_name} is reversed."
    places = [_equal_at(expected, value, axis, i) for i in range(expected.shape[axis])]
    if places[0] and not any(places[1:]):
        yield f"`{name}` is right at the first place along {axis_name} and wrong at all others."
    if places[-1] and not any(places[:-1]):
        yield f"`{name}` is right at the last place along {axis_name} and wrong at all others."
    if _equal(np.ones(()), expected.sum(axis)) and not _equal(np.ones(()), value.sum(axis)):
        summed = [other for i, other in enumerate(axis_names) if i != axis and _equal(np.ones(()), value.sum(i))]
        yield from (f"`{name}` sums to one along {other}, but should along {axis_name}." for other in summed)
    if _proportional(expected, value, axis):
        yield f"`{name}` has the right proportions along {axis_name}, but not the right size."
    if _constant(value - expected, axis):
        yield f"`{name}` has the right differences along {axis_name}: a constant is added to all entries."


def _factors(names: Sequence[str], shape: Sequence[int], inputs: dict[str, Any]) -> Iterator[tuple[float, str]]:
    """Yield factors with their descriptions: -1, 2, one half, and those that come from the sizes of the case."""
    yield -1.0, "minus what it should be"
    yield 2.0, "twice what it should be"
    yield 0.5, "half of what it should be"
    sizes = list(zip(names, shape, strict=True))
    for argument, array in inputs.items():
        if isinstance(array, np.ndarray):
            ordinals = {-1: "last", -2: "last but one", 0: "first"}
            sizes += [
                (f"the {ordinal} axis of `{argument}`", array.shape[i])
                for i, ordinal in ordinals.items()
                if -array.ndim <= i < array.ndim
            ]
    for axis_name, size in sizes:
        if size > 1:
            yield float(size), f"what it should be times the length of {axis_name}"
            yield 1 / size, f"what it should be divided by the length of {axis_name}"
            yield size**0.5, f"what it should be times the root of the length of {axis_name}"
            yield size**-0.5, f"what it should be divided by the root of the length of {axis_name}"


def _axis_names(axes: Sequence[str], ndim: int) -> list[str]:
    """Return a name for each axis of an array."""
    names = [axis for axis in axes if axis != "..."]
    if len(names) > ndim:
        return [f"axis {i}" for i in range(ndim)]
    leading = ndim - len(names)
    batch = [f"batch axis {i}" if leading > 1 else "the batch" for i in range(leading)]
    return batch + [f"`{axis}`" for axis in names]


def _equal(expected: Any, value: np.ndarray) -> bool:
    """Return whether two arrays are equal up to the coarser one's rounding; a scalar is broadcast."""
    if not isinstance(expected, np.ndarray) or expected.dtype.kind != "f" or not np.isfinite(expected).all():
        return False
    if expected.shape != value.shape and expected.ndim:
        return False
    allowed = max(TOLERANCES.get(array.dtype.name, 1e-9) for array in (expected, value))
    return bool((relative_error(np.broadcast_to(expected, value.shape), value) <= allowed).all())


def _equal_at(expected: np.ndarray, value: np.ndarray, axis: int, index: int) -> bool:
    return _equal(np.asarray(expected.take(index, axis)), np.asarray(value.take(index, axis)))


def _proportional(expected: np.ndarray, value: np.ndarray, axis: int | None = None) -> bool:
    """Return whether one array is a multiple of the other: by one factor, or along an axis by one factor each."""
    largest = np.abs(expected).argmax(axis, keepdims=axis is not None)
    if axis is None:
        return _equal(expected * value.ravel()[largest], value * expected.ravel()[largest])
    one, other = (np.take_along_axis(array, largest, axis) for array in (value, expected))
    return _equal(expected * one, value * other)


def _constant(array: np.ndarray, axis: int) -> bool:
    """Return whether an array is constant along an axis."""
    return _equal(np.array(np.broadcast_to(array.take([0], axis), array.shape)), array)
