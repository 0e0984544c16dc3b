"""Compare a value with the expected one and describe the first difference in a sentence.

The order is type, structure, shape, NaN or infinity, value, and last the dtype's bytes. No sentence contains an
expected value. A function could write its inputs into the keys of a wrong value or into the place of a wrong entry, so
hidden cases get a second sentence without keys and places.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from check.values import Foreign

# The errors that the judge allows, as shares of the largest expected entry: in float64 unless an exercise asks for
# another, and in coarser dtypes. The errors of a correct rewrite are a thousand times smaller.
TOLERANCE = 1e-9
COARSER_TOLERANCES = {np.dtype("float16"): 1e-2, np.dtype("float32"): 2e-5}
MAX_KEYS = 8  # the most that one sentence names
MAX_LENGTH = 100  # the longest axis that a sentence names, unless more entries are expected
_MASKED_HINT = " Its method `.filled(0)` returns one, with zeros where it is masked."
MUCH_TOO_LARGE = "more than ten times too large or too small"


@dataclass(frozen=True)
class Difference:
    """How two values differ.

    kind: type, structure, shape, nan, value or dtype. message: a sentence. redacted: the sentence without what the
    wrong value's author may choose freely; "" if the message has nothing of that kind. share: how much of the value is
    right, from 0 to 1, where that is counted.
    """

    kind: str
    message: str
    redacted: str = ""
    share: float = 0.0


def difference(
    expected: Any, value: Any, name: str, axes: str = "", tolerance: float = TOLERANCE, scale: float = 0.0
) -> Difference | None:
    """Return the first difference between a value and the expected one, apart from the precision of its numbers.

    Args:
        expected: None, bool, int, float, str, array, or tuples, lists and dicts of these.
        value: anything that `values.unpack` returns.
        name: the value's name in the sentence.
        axes: names of the expected array's axes, "... T_query d_value".
        tolerance: allowed error in float64, as a share of the largest expected entry.
        scale: if larger than the largest expected entry, errors are measured by it instead.

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
    """Return the first difference in precision, or None.

    An array may have a wrong float dtype or integers of more bytes than expected; a float may stand for a single int.
    """
    if isinstance(expected, dict) and isinstance(value, dict):
        pairs = [(expected[key], value[key], f"{name}[{key!r}]") for key in expected if key in value]
    elif isinstance(expected, tuple | list) and isinstance(value, tuple | list):
        pairs = [(e, v, f"{name}[{i}]") for i, (e, v) in enumerate(zip(expected, value, strict=False))]
    elif _has_wrong_bytes(expected, value):
        return Difference("dtype", _dtype_message(expected.dtype, value.dtype, name))
    elif (type(_without_array(expected)), type(_without_array(value))) == (int, float):
        return Difference("dtype", f"`{name}` is a float where an int is expected.")
    else:
        return None
    return next(filter(None, (precision_difference(*pair) for pair in pairs)), None)


def relative_error(expected: ArrayLike, value: ArrayLike, scale: float = 0.0) -> np.ndarray:
    """Return absolute differences as shares of the largest finite expected entry, or of `scale` if that is larger.

    If both are zero, the differences are returned as they are.
    """
    expected, value = np.asarray(expected, np.float64), np.asarray(value, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.where((expected == value) | (np.isnan(expected) & np.isnan(value)), 0.0, np.abs(expected - value))
        return gap / (max(_largest(expected), scale) or 1.0)


def plain_type(value: Any) -> str:
    """Return the name of a value's type as a student knows it."""
    if isinstance(value, Foreign):
        return value.type_name
    if value is None:
        return "None"
    return "NumPy array" if isinstance(value, np.ndarray) else type(value).__name__


def _largest(expected: Any) -> float:
    """The largest finite absolute entry of an array, or of all float arrays in a dict."""
    if isinstance(expected, dict):
        return max(map(_largest, expected.values()), default=0.0)
    if not isinstance(expected, np.ndarray) or expected.dtype.kind != "f":
        return 0.0
    return float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))


def _dict_difference(expected: dict, value: dict, name: str, tolerance: float, scale: float) -> Difference | None:
    if not isinstance(value, dict):
        return Difference("type", f"`{name}` is {a_value(value)} where a dict is expected.")
    if len(value) > len(expected) + MAX_KEYS:  # comparing 20,000 names with each other would take seconds
        return Difference("structure", f"`{name}` has {len(value)} keys where {len(expected)} are expected.")
    missing = [key for key in expected if key not in value]
    extra = [key for key in value if key not in expected]
    if missing or extra:
        lacks = [f"lacks {_listed(missing)}"] if missing else []
        unexpected = [f"has {'an ' * (len(extra) == 1)}unexpected {_listed(extra)}"] if extra else []
        counted = [f"has {len(extra)} unexpected key{'s' * (len(extra) > 1)}"] if extra else []
        message, redacted = (f"`{name}` {' and '.join(lacks + parts)}." for parts in (unexpected, counted))
        if missing and (renaming := _renaming(missing, extra)):
            message = f"`{name}` has {_listed(extra)} where {_listed(missing)} should be: {renaming}."
        return Difference("structure", message, redacted)
    # The arrays of a dict share one scale, that of the largest. The gradients of parameters need it: the key bias's
    # gradient is zero on paper and rounding noise in practice, which cannot be measured by its own size.
    scale = max(scale, _largest(expected))
    inner = (difference(item, value[key], f"{name}[{key!r}]", "", tolerance, scale) for key, item in expected.items())
    return next(filter(None, inner), None)


def _renaming(missing: list[str], extra: list[str]) -> str:
    """How to rename all extra keys to the missing ones by one prefix or suffix; "" if that is impossible."""
    if len(missing) != len(extra):
        return ""
    for short, long, verb in ((missing, extra, "leave out"), (extra, missing, "add")):
        for place, matches in (("before", str.endswith), ("after", str.startswith)):
            candidates = {key: [other for other in long if key and matches(other, key)] for key in short}
            if any(len(others) != 1 for others in candidates.values()):
                continue
            remove = str.removesuffix if place == "before" else str.removeprefix
            affixes = {remove(others[0], key) for key, others in candidates.items()}
            if len(affixes) == 1:
                return f"{verb} {affixes.pop()[:40]!r} {place} {'it' if len(short) == 1 else 'each of them'}"
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


def allowed_error(*arrays: np.ndarray, tolerance: float = TOLERANCE) -> float:
    """The largest error that the judge allows between arrays, which is that of the coarsest dtype.

    tolerance: in float64.
    """
    return max([tolerance, *(COARSER_TOLERANCES.get(array.dtype, 0.0) for array in arrays)])


def _array_difference(
    expected: np.ndarray, value: np.ndarray, name: str, axes: str, tolerance: float, scale: float
) -> Difference | None:
    if not isinstance(value, np.ndarray):
        message = f"`{name}` is {a_value(value)} where a NumPy array of {expected.dtype} is expected."
        return Difference("type", message + _hint_about_type(expected, value))
    if value.shape != expected.shape:
        return Difference("shape", _shape_message(expected, value, name, axes))
    if not _arrays_of("f", expected, value) and not _dtype_fits(expected.dtype, value.dtype):
        kind = "dtype" if np.array_equal(expected, value) else "type"  # a fault of form alone, or wrong values too
        return Difference(kind, _dtype_message(expected.dtype, value.dtype, name))
    if expected.dtype.kind != "f":
        wrong = expected != value
        return _value_difference(wrong, wrong, name, "") if wrong.any() else None
    strange = ~np.isfinite(value) & np.isfinite(expected)
    if strange.any():
        what = "NaN" if np.isnan(value[strange]).any() else "infinite"
        first = [int(i) for i in np.argwhere(strange)[0]]
        message = f"`{name}`: {strange.sum()} of {value.size} entries are {what}"
        return Difference("nan", f"{message}, the first at index {first}.", f"{message}.")
    # A value of a coarser dtype may have that dtype's rounding; the dtype itself is a fault of its own.
    allowed = allowed_error(expected, value, tolerance=tolerance)
    errors = relative_error(expected, value, scale)
    # Not `errors > allowed`, which is False for an error that is NaN.
    wrong = ~(errors <= allowed)
    if not wrong.any():
        return None
    return _value_difference(errors, wrong, name, f" (allowed: {allowed:.0e} of the largest entry)")


def _hint_about_type(expected: np.ndarray, value: Any) -> str:
    """How to get an array from a masked array, or from a tuple such as (output, cache)."""
    first = value[0] if isinstance(value, tuple) and value else None
    if isinstance(first, np.ndarray) and first.shape == expected.shape:
        return " Its first item has the right shape: take that out of the tuple."
    return _MASKED_HINT if plain_type(value).endswith("MaskedArray") else ""


def _scalar_difference(expected: Any, value: Any, name: str, tolerance: float) -> Difference | None:
    expected, value = _without_array(expected), _without_array(value)
    if expected is None or isinstance(expected, str | bool) or isinstance(value, bool):
        same = type(value) is type(expected) and value == expected
    elif isinstance(value, np.ndarray):
        return Difference("shape", f"`{name}` has axes where a single number is expected: its shape should be ().")
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
    if not isinstance(expected, float):
        wrong = f"`{name}` has the wrong value"
        # Do not quote a long text, nor a number, which students could compare with the cases one by one.
        is_label = isinstance(value, bool) or (isinstance(value, str) and len(value) <= MAX_LENGTH)
        return Difference("value", f"{wrong}, {value!r}." if is_label else f"{wrong}.", f"{wrong}.")
    error = _rounded(float(relative_error(expected, value)))
    return Difference("value", f"`{name}` has the wrong value: it is {f'off by {error}' if error else MUCH_TOO_LARGE}.")


def _value_difference(errors: np.ndarray, wrong: np.ndarray, name: str, allowed: str) -> Difference:
    worst = [int(i) for i in np.unravel_index(np.argmax(np.nan_to_num(errors, nan=np.inf)), wrong.shape)]
    size = ""
    if errors is not wrong:
        error = _rounded(errors.max())
        size = f"off by {f'{error} of' if error else 'more than ten times'} the largest entry{allowed}"
    share = 100 * (1 - wrong.mean())
    right = "none" if share == 0 else f"{min(share, 99.0):.0f}%" if share >= 1 else "under 1%"
    message = f"`{name}` has the right shape and wrong values: {right} of its entries are right"
    full = f"{message}; the worst is at index {worst}{', ' * bool(size)}{size}."
    return Difference("value", full, f"{message}{'; the worst is ' * bool(size)}{size}.")


def _shape_message(expected_array: np.ndarray, value: np.ndarray, name: str, axes: str) -> str:
    expected, got = expected_array.shape, value.shape
    names = axes.split()
    leading = len(expected) - len([axis for axis in names if axis != "..."])
    if names and names[0] == "..." and leading >= 0:
        names = ["batch"] * leading + names[1:]
    lengths = ", ".join(f"{axis} = {n}" for axis, n in zip(names, expected, strict=False) if not axis.isdigit())
    legend = f" ({lengths})" if lengths and len(names) == len(expected) else ""
    # A shape of many axes or of long ones is not a slip, and could spell out the inputs.
    if len(got) > len(expected) + 2 or max(got, default=0) > max(MAX_LENGTH, math.prod(expected)):
        return f"`{name}` has too many entries or axes: shape {expected} is expected{legend}."
    message = f"`{name}` has shape {got} where {expected} is expected{legend}."
    if len(got) >= 2 and got[:-2] + (got[-1], got[-2]) == expected:
        transposed = difference(expected_array, value.swapaxes(-1, -2), name) is None
        message += " Yours is its transpose." if transposed else " The lengths of the last two axes are exchanged."
    elif sorted(got) == sorted(expected):
        message += " The axes are right, but in a different order."
    elif len(got) > len(expected) and _without_ones(got) == _without_ones(expected):
        extra = len(got) - len(expected)
        message += f" Yours has {'an extra axis' if extra == 1 else f'{extra} extra axes'} of length 1."
    elif len(got) == len(expected) - 1 and _without_ones(got) == _without_ones(expected):
        message += " Yours lacks an axis of length 1: `keepdims=True` keeps one."
    elif math.prod(got) == math.prod(expected) > 0:
        message += " The number of entries is right; they are folded differently."
    elif len(expected) > 2 and got == expected[:-1] + expected[:-2] + expected[-1:]:
        message += (
            " `np.dot` and `np.inner` pair each matrix of one batch with each of the other; `@` pairs them in order."
        )
    elif len(got) != len(expected):
        yours = "one axis" if len(got) == 1 else f"{len(got) or 'no'} axes"
        message += f" Yours has {yours} where {'one is' if len(expected) == 1 else f'{len(expected)} are'} expected."
    return message


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n != 1]


def _arrays_of(kinds: str, expected: Any, value: Any) -> bool:
    """Whether both are arrays with a dtype of one of these kinds."""
    return all(isinstance(array, np.ndarray) and array.dtype.kind in kinds for array in (expected, value))


def _has_wrong_bytes(expected: Any, value: Any) -> bool:
    if _arrays_of("f", expected, value):
        return expected.ndim > 0 and expected.dtype != value.dtype
    return _arrays_of("iu", expected, value) and expected.dtype.itemsize < value.dtype.itemsize


def _without_array(value: Any) -> Any:
    """The number in an array without axes; any other value as it is."""
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _dtype_fits(expected: np.dtype, got: np.dtype) -> bool:
    if expected.kind in "iu":
        return got.kind in "iu"
    return expected == got


def _dtype_message(expected: np.dtype, got: np.dtype, name: str) -> str:
    message = f"`{name}` has dtype {got} where {expected} is expected."
    if expected == np.float32 and got == np.float64:
        message += (
            " Something promoted it, such as an array that np.zeros or np.arange made without a dtype, or a "
            "NumPy scalar such as np.sqrt(64). Python's own numbers, such as math.sqrt(64), promote nothing."
        )
    if expected == np.bool_:
        message += " A mask is boolean: True where attention is allowed."
    return message


def _rounded(error: float) -> str:
    """A relative error in words; "" above ten."""
    return f"{error:.0e}" if error < 0.01 else f"{100 * error:.0f}%" if error < 10 else ""


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - MAX_KEYS} more" * (len(keys) > MAX_KEYS)
    return ", ".join(repr(key[:40]) for key in keys[:MAX_KEYS]) + more


def a_value(value: Any) -> str:
    """Return the name of a value's type with its article."""
    kind = plain_type(value)
    return kind if kind == "None" else f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
