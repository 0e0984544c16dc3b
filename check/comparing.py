"""Compare one value with another and say, in plain words, the first thing that is different.

The order is the order in which one would look: type, structure, shape, NaN or infinity, value; how finely the numbers
are kept comes last. No sentence holds an expected value, so all of them may be shown for hidden cases.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from check.values import Foreign

# Allowed error as a share of the largest expected entry. A legitimate rewrite stays a thousand times below.
TOLERANCES = {"float16": 1e-2, "float32": 2e-5}
MOST_NAMED = 8  # keys of a dict in one sentence


@dataclass(frozen=True)
class Difference:
    """kind: type, structure, shape, nan, value or dtype. message: a sentence about it."""

    kind: str
    message: str


def difference(
    expected: Any, value: Any, name: str, axes: str = "", tolerance: float = 1e-9, scale: float = 0.0
) -> Difference | None:
    """The first difference between a value and what was expected, whether numbers are float32 or float64 aside.

    Args:
        expected: None, bool, int, float, str, array, or tuples, lists and dicts of these.
        value: anything that `values.unpack` gives back.
        name: what to call the value in the sentence.
        axes: names of the expected array's axes, "... T_query d_value".
        tolerance: allowed error in float64, as a share of the largest expected entry.
        scale: measure errors by this size, if it is larger than the largest expected entry.

    Returns:
        Difference, or None if there is none.
    """
    if isinstance(expected, dict):
        return _dict_difference(expected, value, name, tolerance, scale)
    if isinstance(expected, tuple | list):
        return _sequence_difference(expected, value, name, tolerance, scale)
    if isinstance(expected, np.ndarray) and expected.ndim:
        return _array_difference(expected, value, name, axes, tolerance, scale)
    return _scalar_difference(expected, value, name, tolerance)


def precision_difference(expected: Any, value: Any, name: str) -> Difference | None:
    """The first array that is kept in another float dtype than expected; whatever is no such array is passed over."""
    if isinstance(expected, dict) and isinstance(value, dict):
        pairs = [(expected[key], value[key], f"{name}[{key!r}]") for key in expected if key in value]
    elif isinstance(expected, tuple | list) and isinstance(value, tuple | list):
        pairs = [(e, v, f"{name}[{i}]") for i, (e, v) in enumerate(zip(expected, value, strict=False))]
    elif _floats(expected, value) and expected.ndim and expected.dtype != value.dtype:
        return Difference("dtype", _dtype_message(expected.dtype, value.dtype, name))
    else:
        return None
    return next(filter(None, (precision_difference(*pair) for pair in pairs)), None)


def relative_error(expected: ArrayLike, value: ArrayLike, scale: float = 0.0) -> np.ndarray:
    """Absolute differences, as shares of the largest finite expected entry, or of `scale` if that is larger.

    Where both are zero they are taken as they are.
    """
    expected, value = np.asarray(expected, np.float64), np.asarray(value, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.where((expected == value) | (np.isnan(expected) & np.isnan(value)), 0.0, np.abs(expected - value))
        return gap / (max(_largest(expected), scale) or 1.0)


def plain_type(value: Any) -> str:
    """How a student would name the type of a value."""
    if isinstance(value, Foreign):
        return value.type_name
    if value is None:
        return "None"
    return "NumPy array" if isinstance(value, np.ndarray) else type(value).__name__


def _largest(expected: Any) -> float:
    """The largest finite entry, by absolute value, of an array or of all float arrays in a dict."""
    if isinstance(expected, dict):
        return max(map(_largest, expected.values()), default=0.0)
    if not isinstance(expected, np.ndarray) or expected.dtype.kind != "f":
        return 0.0
    return float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))


def _dict_difference(expected: dict, value: dict, name: str, tolerance: float, scale: float) -> Difference | None:
    if not isinstance(value, dict):
        return Difference("type", f"`{name}` is {a_value(value)} where a dict is expected.")
    missing = [key for key in expected if key not in value]
    extra = [key for key in value if key not in expected]
    if missing and (added := _added(missing, extra)):
        return Difference("structure", f"`{name}` has {_list(extra)} where {_list(missing)} should be: {added}.")
    if missing or extra:
        words = [f"lacks {_list(missing)}"] * bool(missing) + [f"has {_list(extra)} too many"] * bool(extra)
        return Difference("structure", f"`{name}` {' and '.join(words)}.")
    # The arrays of a dict are measured on one scale, the largest's. Gradients of parameters need that: the key bias's
    # is zero on paper and rounding noise in practice, and noise has no size of its own to be measured by.
    scale = max(scale, _largest(expected))
    inner = (difference(item, value[key], f"{name}[{key!r}]", "", tolerance, scale) for key, item in expected.items())
    return next(filter(None, inner), None)


def _added(missing: list[str], extra: list[str]) -> str:
    """What stands before or after each missing name, or lacks, if it is the same for all; else ""."""
    for short, long, verb in ((missing, extra, "leave out"), (extra, missing, "add")):
        for place, matches in (("before", str.endswith), ("after", str.startswith)):
            pairs = [(s, [each for each in long if s and matches(each, s)]) for s in short]
            if len(short) != len(long) or any(len(found) != 1 for _, found in pairs):
                continue
            more = {found[0].removesuffix(s) if place == "before" else found[0].removeprefix(s) for s, found in pairs}
            if len(more) == 1:
                return f"{verb} {more.pop()[:40]!r} {place} {'it' if len(pairs) == 1 else 'each of them'}"
    return ""


def _sequence_difference(
    expected: tuple | list, value: tuple | list, name: str, tolerance: float, scale: float
) -> Difference | None:
    if not isinstance(value, tuple | list):
        return Difference("type", f"`{name}` is {a_value(value)} where a tuple is expected.")
    if len(value) != len(expected):
        return Difference("structure", f"`{name}` has {len(value)} items where {len(expected)} are expected.")
    pairs = enumerate(zip(expected, value, strict=True))
    inner = (difference(e, v, f"{name}[{i}]", "", tolerance, scale) for i, (e, v) in pairs)
    return next(filter(None, inner), None)


def _array_difference(
    expected: np.ndarray, value: np.ndarray, name: str, axes: str, tolerance: float, scale: float
) -> Difference | None:
    if value is None:
        return Difference("type", f"`{name}` is None: is a `return` missing?")
    if not isinstance(value, np.ndarray):
        return Difference("type", f"`{name}` is {a_value(value)} where a NumPy array of {expected.dtype} is expected.")
    if value.shape != expected.shape:
        return Difference("shape", _shape_message(expected.shape, value.shape, name, axes))
    if not _floats(expected, value) and not _dtype_fits(expected.dtype, value.dtype):
        return Difference("dtype", _dtype_message(expected.dtype, value.dtype, name))
    if expected.dtype.kind != "f":
        wrong = expected != value
        return _value_difference(wrong, wrong, name, "") if wrong.any() else None
    strange = ~np.isfinite(value) & np.isfinite(expected)
    if strange.any():
        what = "NaN" if np.isnan(value[strange]).any() else "infinite"
        first = [int(i) for i in np.argwhere(strange)[0]]
        count = f"{strange.sum()} of {value.size}"
        return Difference("nan", f"`{name}`: {count} entries are {what}, the first at index {first}.")
    # A value of a coarser dtype has its rounding; that the dtype is another one is said apart.
    allowed = max(TOLERANCES.get(expected.dtype.name, tolerance), TOLERANCES.get(value.dtype.name, 0.0))
    errors = relative_error(expected, value, scale)
    # `not <=` rather than `>`: an error that is NaN is an error.
    wrong = ~(errors <= allowed)
    if not wrong.any():
        return None
    return _value_difference(errors, wrong, name, f" (allowed: {allowed:.0e} of the largest entry)")


def _scalar_difference(expected: Any, value: Any, name: str, tolerance: float) -> Difference | None:
    if isinstance(expected, np.ndarray):
        expected = expected.item()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if expected is None or isinstance(expected, str | bool) or isinstance(value, bool):
        same = type(value) is type(expected) and value == expected
    elif not isinstance(value, int | float):
        return Difference("type", f"`{name}` is {a_value(value)} where a number is expected.")
    elif isinstance(expected, int):
        same = value == expected
    elif not math.isfinite(value) and math.isfinite(expected):
        return Difference("nan", f"`{name}` is {value}.")
    else:
        same = bool(relative_error(expected, value) <= tolerance)
    if same:
        return None
    if type(value) is not type(expected) and not isinstance(value, int | float):
        return Difference("type", f"`{name}` is {a_value(value)} where {a_value(expected)} is expected.")
    size = f": off by {_rounded(float(relative_error(expected, value)))} of it" if isinstance(expected, float) else ""
    return Difference("value", f"`{name}` is not the number it should be{size}.")


def _value_difference(errors: np.ndarray, wrong: np.ndarray, name: str, allowed: str) -> Difference:
    worst = [int(i) for i in np.unravel_index(np.argmax(np.nan_to_num(errors, nan=np.inf)), wrong.shape)]
    size = "" if errors is wrong else f", off by {_rounded(errors.max())} of the largest entry{allowed}"
    share = 100 * (1 - wrong.mean())
    right = "none" if share == 0 else f"{min(share, 99.0):.0f}%" if share >= 1 else "under 1%"
    message = f"`{name}` has the right shape and wrong values: {right} of its entries are right"
    return Difference("value", f"{message}; the worst is at index {worst}{size}.")


def _shape_message(expected: tuple[int, ...], got: tuple[int, ...], name: str, axes: str) -> str:
    names = axes.split()
    leading = len(expected) - len([axis for axis in names if axis != "..."])
    if names and names[0] == "..." and leading >= 0:
        names = ["batch"] * leading + names[1:]
    meant = ", ".join(f"{axis} = {n}" for axis, n in zip(names, expected, strict=False))
    named = f" ({meant})" if meant and len(names) == len(expected) else ""
    message = f"`{name}` has shape {got} where {expected} is expected{named}."
    if len(got) >= 2 and got[:-2] + (got[-1], got[-2]) == expected:
        message += " Yours is its transpose: the last two axes are exchanged."
    elif sorted(got) == sorted(expected):
        message += " The axes are there, in another order."
    elif len(got) == len(expected) + 1 and _without_ones(got) == _without_ones(expected):
        message += " Yours has an axis of length 1 too many."
    elif len(got) == len(expected) - 1 and _without_ones(got) == _without_ones(expected):
        message += " Yours lacks an axis of length 1: `keepdims=True` keeps one."
    elif math.prod(got) == math.prod(expected):
        message += " The number of entries is right; they are folded differently."
    elif len(got) != len(expected):
        message += f" Yours has {len(got)} axes, {len(expected)} are expected."
    return message


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n != 1]


def _floats(expected: Any, value: Any) -> bool:
    return all(isinstance(each, np.ndarray) and each.dtype.kind == "f" for each in (expected, value))


def _dtype_fits(expected: np.dtype, got: np.dtype) -> bool:
    if expected.kind in "iu":
        return got.kind in "iu"
    return expected == got


def _dtype_message(expected: np.dtype, got: np.dtype, name: str) -> str:
    message = f"`{name}` has dtype {got} where {expected} is expected."
    if expected == np.float32 and got == np.float64:
        message += (
            " Something promoted it: an array that np.zeros or np.arange made on the way without a dtype, say, or a "
            "NumPy scalar such as np.sqrt(64); Python's own numbers, as math.sqrt(64), promote nothing."
        )
    if expected == np.bool_:
        message += " A mask is boolean: True where attention is allowed."
    return message


def _rounded(error: float) -> str:
    return f"{error:.0e}" if error < 0.01 else f"{100 * error:.0f}%" if error < 10 else "more than ten times"


def _list(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - MOST_NAMED} more" * (len(keys) > MOST_NAMED)
    return ", ".join(repr(key[:40]) for key in keys[:MOST_NAMED]) + more


def a_value(value: Any) -> str:
    """How a student would say what a value is, with its article."""
    kind = plain_type(value)
    return kind if kind == "None" else f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
