"""Harm any of a student's functions: change the arrays of its arguments or of its result."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from check.tested import arrays_in, named_arguments
from check.trees import mapped


def _mapped(change: Callable[[np.ndarray], np.ndarray], value: Any) -> Any:
    """Apply a change to every float and every array of numbers in a value."""

    def changed(part: Any) -> Any:
        if not isinstance(part, float | np.ndarray) or np.asarray(part).dtype.kind not in "iuf":
            return part
        new = change(np.asarray(part))
        return new.item() if type(part) is float else new

    return mapped(changed, value)


def _of_result(change: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """The harm that changes every float and every array of the result."""
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


def _writes(place: int) -> Callable:
    """The harm that adds 1 to the numbers of an argument.

    This changes neither the slopes of a softmax nor a normalised row, so a test that keeps no copy often misses it.
    """

    def harm(function: Callable, *args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if isinstance(args[place], list):
            args[place][:] = [number + 1 for number in args[place]]
        for array in arrays_in([args[place]]):
            array += array.dtype.type(1)
        return result

    return harm


def _with_argument(place: int, change: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """The harm that changes an argument, which becomes an array."""

    def harm(function: Callable, *args: Any, **kwargs: Any) -> Any:
        return function(*args[:place], change(np.asarray(args[place])), *args[place + 1 :], **kwargs)

    return harm


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


def _refuses(words: str, refused: Callable[[int], bool]) -> Callable:
    """The harm that raises an exception for some numbers of axes of the first argument."""

    def harm(function: Callable, first: Any, *args: Any, **kwargs: Any) -> Any:
        if refused(np.ndim(first)):
            raise ValueError(words)
        return function(first, *args, **kwargs)

    return harm


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


def _other_error(function: Callable, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        raise TypeError(str(error)) from None


def _with_variance(other: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """The harm that divides by the root of another variance in a layer normalisation."""

    def harm(function: Callable, x: Any, gain: Any, bias: Any, eps: float = 1e-5) -> Any:
        output, *others = function(x, gain, bias, eps)
        factor = np.sqrt((np.var(x, axis=-1, keepdims=True) + eps) / (other(np.asarray(x)) + eps))
        return ((output - bias) * factor + bias).astype(output.dtype), *others

    return harm


def _by_difference(x: np.ndarray) -> np.ndarray:
    return np.maximum(np.mean(x * x, axis=-1, keepdims=True) - np.mean(x, axis=-1, keepdims=True) ** 2, 0)


def _unbiased(x: np.ndarray) -> np.ndarray:
    return np.var(x, axis=-1, keepdims=True) * x.shape[-1] / max(x.shape[-1] - 1, 1)


# In the words, {0} stands for the function's first parameter, {1} for the second, and so on.
ANY_HARMS: dict[str, tuple[str, Callable]] = {
    "zeros": ("returns zeros", _of_result(np.zeros_like)),
    "sign": ("has the wrong sign", _of_result(np.negative)),
    "tenth more": ("adds a tenth to every entry", _of_result(lambda array: array + array.dtype.type(0.1))),
    "large": ("is two per cent too large", _of_result(lambda array: array * array.dtype.type(1.02))),
    "first row": ("computes the first row only", _of_result(_first_row_only)),
    "first item": ("computes the first item of a batch only", _of_result(_first_item_only)),
    "reversed rows": (
        "returns the rows in reverse order",
        _of_result(lambda array: array[..., ::-1, :].copy() if array.ndim > 1 else array),
    ),
    "square": ("is right only where there are as many rows as columns", _of_result(_scaled_unless_square)),
    "one column": (
        "reads only the first column of `{0}`",
        _with_argument(0, lambda first: first * (np.arange(first.shape[-1]) == 0).astype(first.dtype)),
    ),
    "equal second": (
        "treats all entries of `{1}` as equal",
        _with_argument(1, lambda second: np.full_like(second, 1 / second.shape[-1])),
    ),
    "second as ones": ("treats all entries of `{1}` as ones", _with_argument(1, np.ones_like)),
    "third as zeros": ("treats all entries of `{2}` as zeros", _with_argument(2, np.zeros_like)),
    "means": ("adds to each row the mean of that row of `{0}`", _adds_means),
    "batches": ("raises an exception for a batch", _refuses_batches),
    "first argument": ("returns `{0}` unchanged", _first_argument),
    "sums": ("returns the sum of each row", _of_result(lambda array: np.atleast_1d(array.sum(axis=-1)))),
    "maxima": (
        "returns the largest entry of each row",
        _of_result(lambda array: np.atleast_1d(array.max(axis=-1))),
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
    "reversed heads": (
        "returns the heads of a batch in reverse order",
        _of_result(lambda array: array[..., ::-1, :, :].copy() if array.ndim > 3 else array),
    ),
    "single rows": ("raises an exception for a single row", _refuses("too few axes", lambda n: n == 1)),
    "single sentences": ("raises an exception for a single sentence", _refuses("too few axes", lambda n: n == 2)),
    "one batch axis": ("takes exactly one batch axis for granted", _refuses("not one batch axis", lambda n: n != 3)),
    "two batch axes": ("raises an exception for two batch axes", _refuses("too many axes", lambda n: n > 3)),
    "size of a part": ("takes `{1}` to be the size of a part, not the number of parts", _takes_number_for_size),
    "no error": ("returns a value where it should raise a ValueError", _answers_for_errors),
    "other error": ("raises a TypeError where it should raise a ValueError", _other_error),
    "difference": ("subtracts the squared mean from the mean square", _with_variance(_by_difference)),
    "unbiased": ("divides the squares by d_model - 1", _with_variance(_unbiased)),
    "defaults": ("ignores its arguments that have a default", _leaves_out_defaults),
    "writes": ("writes into `{0}`", _writes(0)),
    "writes second": ("writes into `{1}`", _writes(1)),
    "double": (
        "returns float64 for float32",
        _of_result(lambda array: array.astype(np.float64) if array.dtype.kind == "f" else array),
    ),
}

# Right functions made from the student's own; the words follow its name.
ANY_CHANGES: dict[str, tuple[str, Callable]] = {
    "sums of weights": (
        "multiplied by the sum of each row of weights, which is 1 for every row that `softmax` returns",
        _times_sums_of_weights,
    ),
    "other cache": ("with None as its cache", _other_cache),
    "rounding": ("rounded in another way", _of_result(lambda array: array * array.dtype.type(1 + 1e-13))),
}
