"""Messages between the grader and the sandboxed process: length, JSON header, raw bytes of the arrays.

The same code runs on both sides. `decode` trusts nothing it reads: whatever `encode` cannot have made
raises `values.Malformed`, and no length is believed beyond the limits given.
"""

import json
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from check import values

MAX_HEADER = 2**20
MAX_AXES = 32
_LENGTH = struct.Struct(">I")


def encode(message: dict[str, Any], arrays: Iterable[np.ndarray] = ()) -> bytes:
    """One frame: 4 bytes of length, a header of JSON, then the bytes of each array in C order."""
    arrays = list(arrays)
    header = {**message, "arrays": [[array.dtype.name, list(array.shape)] for array in arrays]}
    # "replace" turns half a surrogate pair into "?": what `decode` yields can always be written as UTF-8.
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return b"".join([_LENGTH.pack(len(text)), text, *(array.tobytes() for array in arrays)])


def decode(
    read: Callable[[int], bytes], *, max_header: int = MAX_HEADER, max_bytes: int
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The inverse of `encode`.

    Args:
        read: read(n) -> exactly n bytes.
        max_header: bytes of JSON at most.
        max_bytes: bytes of all arrays together at most.

    Returns:
        message, arrays (read-only).

    Raises:
        values.Malformed: for anything that is not a frame within the limits; whatever `read` raises.
    """
    (length,) = _LENGTH.unpack(read(_LENGTH.size))
    if length > max_header:
        raise values.Malformed("a header that is too long")
    message = parse(read(length))
    plans = _plans(message.pop("arrays", None), max_bytes)
    return message, [_array(dtype, shape, read(n_bytes)) for dtype, shape, n_bytes in plans]


def parse(text: bytes) -> dict[str, Any]:
    """A JSON object without floats, repeated keys, overlong integers or broken text; else values.Malformed."""
    try:
        message = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_without_repeats,
            parse_int=_short_int,
            parse_float=_refuse,
            parse_constant=_refuse,
        )
        json.dumps(message, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise values.Malformed("a header that is no JSON of ours") from error
    if type(message) is not dict:
        raise values.Malformed("a header that is no JSON object")
    return message


def _plans(described, max_bytes):
    if type(described) is not list:
        raise values.Malformed("a header without arrays")
    plans = []
    for item in described:
        dtype, shape = item if type(item) is list and len(item) == 2 else (None, None)
        if type(dtype) is not str or dtype not in values.DTYPES or type(shape) is not list or len(shape) > MAX_AXES:
            raise values.Malformed("an array of an unknown dtype or without a shape")
        if not all(type(size) is int and 0 <= size < 2**48 for size in shape):
            raise values.Malformed("an array with an impossible shape")
        n_bytes = np.dtype(dtype).itemsize * math.prod(shape)
        max_bytes -= n_bytes
        if max_bytes < 0:
            raise values.Malformed("arrays that are too large")
        plans.append((dtype, shape, n_bytes))
    return plans


def _array(dtype, shape, data):
    if dtype == "bool" and data.strip(b"\x00\x01"):
        raise values.Malformed("a bool that is neither True nor False")
    try:
        return np.frombuffer(data, dtype).reshape(shape)
    except ValueError as error:
        raise values.Malformed("an array with an impossible shape") from error


def _without_repeats(pairs):
    keys = dict(pairs)
    if len(keys) != len(pairs):
        raise ValueError("a repeated key")
    return keys


def _short_int(digits):
    if len(digits) > 40:  # the state of a random generator has 128 bits
        raise ValueError("an overlong integer")
    return int(digits)


def _refuse(text):
    raise ValueError(f"{text} has no place in a header")
