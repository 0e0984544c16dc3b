"""Harm a student's own function in known ways, so that a test of it can be tried without any code of the book.

A public key names a harm, and `check` does it to the function that the student wrote. A harm changes the arguments or
the result, never the code, so it works for every right function. A few changes are harmless: the function stays right,
but returns other numbers where it promises none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from check.draft_harms import DRAFT_CHANGES, DRAFT_HARMS
from check.look_up_harms import LOOK_UP_HARMS
from check.step_harms import STEP_HARMS
from check.tested import FunctionUnderTest, arrays_in, named_arguments

UNHARMED = ""


@dataclass(frozen=True)
class Harmed:
    """The student's own function of an exercise with a change, as an input of a public case.

    harm: a name in HARMS or HARMLESS, or UNHARMED.
    """

    exercise: str
    harm: str


def bound(inputs: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return inputs with the functions in place of their harms. own: the student's functions by name."""
    return {
        name: FunctionUnderTest(value.exercise, harmed(own[value.exercise], value.harm))
        if isinstance(value, Harmed)
        else value
        for name, value in inputs.items()
    }


def harmed(function: Callable, harm: str) -> Callable:
    """Return a function with a change. Raises KeyError if there is no harm or harmless change of that name."""
    if harm == UNHARMED:
        return function
    _, do = (HARMS | HARMLESS)[harm]

    def changed(*args: Any, **kwargs: Any) -> Any:
        call = signature(function).bind(*args, **kwargs)  # the same call, with as few keywords as possible
        return do(function, *call.args, **call.kwargs)

    return changed


def words(harm: str) -> str:
    """Return what a function with this harm does, after the words "a function that"."""
    return HARMS[harm][0]


def harmless_words(change: str) -> str:
    """Return what a function with this harmless change is, after its name and a comma."""
    return HARMLESS[change][0]


# ---------------------------------------------------------------------------------------- harms of any function


def _mapped(change: Callable[[np.ndarray], np.ndarray], value: Any) -> Any:
    """Return a value with every array of numbers in it changed, and every float."""
    if isinstance(value, dict):
        return {name: _mapped(change, part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_mapped(change, part) for part in value)
    if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind in "iuf":
        changed = change(np.asarray(value))
        return changed.item() if type(value) is float else changed
    return value


def _of_result(change: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """Return the harm that changes every array of the result."""
    return lambda function, *args, **kwargs: _mapped(change, function(*args, **kwargs))


def _first_row_only(array: np.ndarray) -> np.ndarray:
    if array.ndim < 2:
        return array
    rows = np.zeros_like(array)
    rows[..., :1, :] = array[..., :1, :]
    return rows


def _first_item_only(array: np.ndarray) -> np.ndarray:
    if array.ndim < 3:
        return array
    items = np.zeros_like(array)
    items[:1] = array[:1]
    return items


def _scaled_unless_square(array: np.ndarray) -> np.ndarray:
    return array if array.ndim < 2 else array * array.dtype.type(array.shape[-2] / array.shape[-1])


def _in_double(function: Callable, *args: Any, **kwargs: Any) -> Any:
    return _mapped(
        lambda array: array.astype(np.float64) if array.dtype.kind == "f" else array, function(*args, **kwargs)
    )


def _writes(function: Callable, first: Any, *args: Any, **kwargs: Any) -> Any:
    """Add 1 to the numbers of the first argument. Often this leaves the right result as it was, so a test that keeps no
    copy does not notice: neither the slopes of a softmax nor a normalised row change."""
    result = function(first, *args, **kwargs)
    if isinstance(first, list):
        first[:] = [number + 1 for number in first]
    for array in arrays_in([first]):
        array += array.dtype.type(1)
    return result


def _reads_one_column(function: Callable, first: Any, *args: Any, **kwargs: Any) -> Any:
    first = np.asarray(first)
    return function(first * (np.arange(first.shape[-1]) == 0).astype(first.dtype), *args, **kwargs)


def _ignores_second(function: Callable, first: Any, second: Any, *args: Any, **kwargs: Any) -> Any:
    second = np.asarray(second)
    return function(first, np.full_like(second, 1 / second.shape[-1]), *args, **kwargs)


def _second_as_ones(function: Callable, first: Any, second: Any, *args: Any, **kwargs: Any) -> Any:
    return function(first, np.ones_like(second), *args, **kwargs)


def _third_as_zeros(function: Callable, first: Any, second: Any, third: Any, *args: Any, **kwargs: Any) -> Any:
    return function(first, second, np.zeros_like(third), *args, **kwargs)


def _adds_means(function: Callable, first: Any, *args: Any, **kwargs: Any) -> Any:
    means = np.mean(first, axis=-1, keepdims=True)
    return _mapped(
        lambda array: array + means if np.shape(array) == np.shape(first) else array, function(first, *args, **kwargs)
    )


def _refuses_batches(function: Callable, *args: Any, **kwargs: Any) -> Any:
    result = function(*args, **kwargs)
    if any(array.ndim > 2 for array in arrays_in(result)):
        raise ValueError("too many axes")
    return result


def _refuses_two_batch_axes(function: Callable, first: Any, *args: Any, **kwargs: Any) -> Any:
    if np.ndim(first) > 3:
        raise ValueError("too many axes")
    return function(first, *args, **kwargs)


def _takes_number_for_size(function: Callable, first: Any, second: Any, *args: Any, **kwargs: Any) -> Any:
    return function(first, np.shape(first)[-1] // second, *args, **kwargs)


def _answers_for_errors(function: Callable, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except ValueError:
        return np.zeros_like(args[0])


def _leaves_out_defaults(function: Callable, *args: Any, **kwargs: Any) -> Any:
    needed = [name for name, one in signature(function).parameters.items() if one.default is one.empty]
    call = signature(function).bind(*args, **kwargs).arguments
    return function(**{name: call[name] for name in needed})


def _other_cache(function: Callable, *args: Any, **kwargs: Any) -> Any:
    output, *_ = function(*args, **kwargs)
    return output, None


def _first_argument(function: Callable, *args: Any, **kwargs: Any) -> Any:
    function(*args, **kwargs)
    return np.array(args[0])


def _times_sums_of_weights(function: Callable, *args: Any, **kwargs: Any) -> Any:
    sums = np.sum(named_arguments(function, args, kwargs)["weights"], axis=-1, keepdims=True)
    return _mapped(lambda array: array * sums, function(*args, **kwargs))


HARMS: dict[str, tuple[str, Callable]] = {
    "zeros": ("returns zeros", _of_result(np.zeros_like)),
    "sign": ("has the wrong sign", _of_result(np.negative)),
    "large": ("is two per cent too large", _of_result(lambda array: array * array.dtype.type(1.02))),
    "first row": ("computes the first row only", _of_result(_first_row_only)),
    "first item": ("computes the first item of a batch only", _of_result(_first_item_only)),
    "reversed rows": (
        "returns the rows in reverse order",
        _of_result(lambda array: array[..., ::-1, :].copy() if array.ndim > 1 else array),
    ),
    "square": ("is right only where there are as many rows as columns", _of_result(_scaled_unless_square)),
    "one column": ("reads only the first column of its first argument", _reads_one_column),
    "equal second": ("treats all entries of its second argument as equal", _ignores_second),
    "second as ones": ("treats all entries of its second argument as ones", _second_as_ones),
    "third as zeros": ("treats all entries of its third argument as zeros", _third_as_zeros),
    "means": ("adds to each row the mean of that row of its first argument", _adds_means),
    "batches": ("raises an exception for a batch", _refuses_batches),
    "first argument": ("returns its first argument unchanged", _first_argument),
    "sums": (
        "returns the sum of each row",
        _of_result(lambda array: array.sum(axis=-1, keepdims=array.ndim == 1)),
    ),
    "last axes": ("exchanges the last two axes of its result", _of_result(lambda array: array.swapaxes(-1, -2))),
    "folded": (
        "merges all axes before the last two into one",
        _of_result(lambda array: array.reshape(-1, *array.shape[-2:])),
    ),
    "reversed batch": (
        "returns the items of a batch in reverse order",
        _of_result(lambda array: array[::-1].copy() if array.ndim > 3 else array),
    ),
    "reversed matrices": (
        "returns the matrices of its result in reverse order",
        _of_result(lambda array: array[..., ::-1, :, :].copy() if array.ndim > 2 else array),
    ),
    "two batch axes": ("raises an exception for two batch axes", _refuses_two_batch_axes),
    "size of a part": (
        "takes its second argument to be the size of a part, not the number of parts",
        _takes_number_for_size,
    ),
    "no error": ("returns a value where it should raise a ValueError", _answers_for_errors),
    "defaults": ("ignores its arguments that have a default", _leaves_out_defaults),
    "writes": ("writes into its first argument", _writes),
    "double": ("returns float64 for float32", _in_double),
    **DRAFT_HARMS,
    **LOOK_UP_HARMS,
    **STEP_HARMS,
}

# What a right function is beside the student's own, after its name.
HARMLESS: dict[str, tuple[str, Callable]] = {
    "sums of weights": (
        "multiplied by the sum of each row of weights, which is 1 for every row that `softmax` returns",
        _times_sums_of_weights,
    ),
    "other cache": ("with None as its cache", _other_cache),
    "rounding": ("rounded in another way", _of_result(lambda array: array * array.dtype.type(1 + 1e-13))),
    **DRAFT_CHANGES,
}
