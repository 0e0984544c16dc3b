"""Find what is true of one wrong array: sentences that relate it to the right array and to the inputs.

No sentence contains an expected value.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from check.comparing import allowed_error
from check.trees import arrays_by_path

ORDINALS = {-1: "last", -2: "last but one", 0: "first"}
SIMPLE_FACTORS = {-1.0: "minus what it should be", 2.0: "twice what it should be", 0.5: "half of what it should be"}


def is_distinctive(array: Any) -> bool:
    """Whether an array can prove a relation: finite floats with at least three different values, or all zero."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not np.isfinite(array).all():
        return False
    return len(np.unique(array)) > 2 or not array.any()


def relations_of_array(
    subject: str,
    axes: Sequence[str],
    expected: np.ndarray,
    value: np.ndarray,
    inputs: dict[str, Any],
    others: dict[str, Any],
    factors_of_case: Sequence[tuple[float, str]],
) -> Iterator[str]:
    """Yield every sentence that is true of one wrong array, the most informative first.

    subject: the array in words. inputs: argument -> value. others: name -> what another output should be.
    factors_of_case: the `size_factors` of its inputs.
    """
    if not value.any():
        yield f"{subject} is zero everywhere."
    if not expected.any() or not value.any():
        return
    axis_names = _axis_names(axes, expected.ndim)
    if proportional(expected, value):
        lengths = [(f"the length of {name}", n) for name, n in zip(axis_names, expected.shape, strict=True)]
        largest = np.abs(expected).argmax()
        ratio = value.flat[largest] / expected.flat[largest]
        for factor, words in (*SIMPLE_FACTORS.items(), *size_factors(lengths), *factors_of_case):
            if math.isclose(factor, ratio, rel_tol=1e-2) and equal(factor * expected, value):  # `isclose` is cheaper
                yield f"{subject} is {words}."
        if expected.ndim:
            yield f"{subject} is right except for one factor, the same for all entries."
    for other, array in others.items():
        if equal(array, value):
            yield f"{subject} is what `{other}` should be."
    for argument, array in inputs.items():
        if equal(array, value):
            yield f"{subject} is `{argument}`, unchanged."
        elif equal(array, value - expected):
            yield f"{subject} contains `{argument}` once too often: subtract it to get the right value."
        elif equal(array, expected - value):
            yield f"{subject} lacks `{argument}`: add it to get the right value."
        elif isinstance(array, np.ndarray) and array.shape == expected.shape:
            steps = (f for f in SIMPLE_FACTORS if equal(f * (expected - array), value - array))
            yield from (f"the step from `{argument}` to {subject} is {SIMPLE_FACTORS[factor]}." for factor in steps)
    if expected.ndim > 1 and equal(np.swapaxes(expected, -1, -2), value):
        yield f"{subject} is right except that its last two axes are exchanged."
    n_batch_axes = max(expected.ndim - sum(axis != "..." for axis in axes), 0) if axes else 0
    for axis in range(expected.ndim):
        if expected.shape[axis] == 1:
            continue  # all arrays agree along it
        yield from _along(subject, axis, axis_names, expected, value)
        if axis >= n_batch_axes:  # along a batch axis, such a pattern would be an accident
            yield from _places_along(subject, axis, axis_names[axis], expected, value)
            yield from _sizes_along(subject, axis, axis_names[axis], expected, value)


def _along(
    subject: str, axis: int, axis_names: Sequence[str], expected: np.ndarray, value: np.ndarray
) -> Iterator[str]:
    """Yield the sentences that are true along one axis of a wrong array."""
    axis_name = axis_names[axis]
    if equal(np.flip(expected, axis), value):
        yield f"{subject} is right except that the order along {axis_name} is reversed."
    if equal(np.ones(()), expected.sum(axis)) and not equal(np.ones(()), value.sum(axis)):
        summed = [other for i, other in enumerate(axis_names) if i != axis and equal(np.ones(()), value.sum(i))]
        yield from (f"{subject} sums to one along {other}, but should along {axis_name}." for other in summed)


def _places_along(subject: str, axis: int, axis_name: str, expected: np.ndarray, value: np.ndarray) -> Iterator[str]:
    """Yield a sentence if only the first or only the last place along an axis is right."""
    right_first, right_last = (_equal_at(expected, value, axis, i) for i in (0, -1))
    inner = range(1, expected.shape[axis] - 1)
    if not inner or right_first == right_last or any(_equal_at(expected, value, axis, i) for i in inner):
        return
    if right_first:
        yield f"{subject} is right at the first place along {axis_name} and wrong at all others."
    else:
        yield f"{subject} is right at the last place along {axis_name} and wrong at all others."


def _sizes_along(subject: str, axis: int, axis_name: str, expected: np.ndarray, value: np.ndarray) -> Iterator[str]:
    """Yield sentences about the proportions and the differences along one axis."""
    if proportional(expected, value, axis):
        yield f"{subject} has the right proportions along {axis_name}, but not the right size."
    if constant(value - expected, axis):
        error = "entries in one line along it are off by the same number"
        yield f"{subject} has the right differences along {axis_name}: {error}."


def size_factors(sizes: Iterable[tuple[str, float]]) -> Iterator[tuple[float, str]]:
    """Yield each size, its root and their inverses as factors, with descriptions. sizes: see `sizes_of`."""
    for words, size in sizes:
        if size > 0 and size != 1:
            yield float(size), f"what it should be times {words}"
            yield 1 / size, f"what it should be divided by {words}"
            yield size**0.5, f"what it should be times the root of {words}"
            yield size**-0.5, f"what it should be divided by the root of {words}"


def sizes_of(inputs: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the sizes and numbers of a case, each with its description. Inputs may be trees of arrays."""
    sizes: list[tuple[str, float]] = []
    for argument, value in inputs.items():
        if isinstance(value, np.ndarray):
            sizes += _lengths(value, f"`{argument}`", (-1, -2, 0))
            sizes += [(f"the number of entries of `{argument}`", value.size)]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            sizes += [(f"`{argument}`", value)]
            sizes += [(f"1 - `{argument}`", 1 - value)] if 0 < value < 1 else []
        else:
            sizes += dict.fromkeys(_sizes_in_tree(argument, value))
    return sizes


def _sizes_in_tree(argument: str, tree: Any) -> Iterator[tuple[str, float]]:
    """Yield the first and the last length of every array, named after the dict or list in which it is.

    The arrays' own names may differ between cases, for example three tables in one and a shared table in another.
    """
    for path, array in arrays_by_path(tree, argument):
        yield from _lengths(array, f"an array in `{path.rpartition('[')[0]}`", (0, -1))


def _lengths(array: np.ndarray, name: str, axes: Sequence[int]) -> list[tuple[str, float]]:
    return [
        (f"the length of the {ORDINALS[axis]} axis of {name}", array.shape[axis])
        for axis in axes
        if -array.ndim <= axis < array.ndim
    ]


def _axis_names(axes: Sequence[str], ndim: int) -> list[str]:
    """A name for each axis of an array. axes: [] for a part of a tree, whose axes have no names."""
    names = [axis for axis in axes if axis != "..."]
    if not axes or len(names) > ndim:
        return [f"axis {i}" for i in range(ndim)]
    leading = ndim - len(names)
    batch = [f"batch axis {i}" if leading > 1 else "the batch" for i in range(leading)]
    return batch + [f"axis {leading + i}" if axis.isdigit() else f"`{axis}`" for i, axis in enumerate(names)]


def equal(expected: Any, value: np.ndarray) -> bool:
    """Whether two arrays are equal up to the rounding of the coarser dtype; a scalar is broadcast."""
    if not isinstance(expected, np.ndarray) or expected.dtype.kind != "f":
        return False
    if (expected.shape != value.shape and expected.ndim) or not np.isfinite(expected).all():
        return False
    largest = float(np.abs(expected).max(initial=0.0)) or 1.0
    with np.errstate(over="ignore"):
        return bool(
            (np.abs(np.subtract(expected, value, dtype=np.float64)) <= allowed_error(expected, value) * largest).all()
        )


def _equal_at(expected: np.ndarray, value: np.ndarray, axis: int, index: int) -> bool:
    return equal(np.asarray(expected.take(index, axis)), np.asarray(value.take(index, axis)))


def proportional(expected: np.ndarray, value: np.ndarray, axis: int | None = None) -> bool:
    """Whether an array is a multiple of the expected one: by one factor, or by nonzero factors along an axis."""
    magnitudes = np.abs(expected)
    if axis is None:
        largest = magnitudes.argmax()
        return equal(expected * value.ravel()[largest], value * expected.ravel()[largest])
    places = magnitudes.argmax(axis, keepdims=True)
    one, other = (np.take_along_axis(array, places, axis) for array in (value, expected))
    return bool(one.all() and other.all()) and equal(expected * one, value * other)


def constant(array: np.ndarray, axis: int) -> bool:
    return equal(np.array(np.broadcast_to(array.take([0], axis), array.shape)), array)
