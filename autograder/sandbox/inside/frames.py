"""Messages between the grader and the sandboxed process: a length, a JSON header, and the raw bytes of the arrays.

Both sides run this code. `decode` does not trust its input. It raises `values.Malformed` for any frame that `encode`
cannot have made, and accepts no length above its limits.
"""

import json
import math
import struct
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from check import values

MAX_HEADER = 2**20
MAX_AXES = 32
PIPE_BYTES = 2**16  # as many as Linux keeps in a pipe
_LENGTH = struct.Struct(">I")
_ITEM_SIZES = {name: dtype.itemsize for dtype, name in values.NATIVE.items()}


class Buffer:
    """Bytes that have arrived through a pipe and were not read yet."""

    def __init__(self, receive: Callable[[], bytes]):
        """receive() -> all bytes that have arrived; no bytes at the end."""
        self._receive = receive
        self._bytes = bytearray()

    def __len__(self) -> int:
        """Return how many bytes are here."""
        return len(self._bytes)

    def read(self, n_bytes: int) -> bytes:
        """Return exactly this many bytes. Raises EOFError, and all exceptions of `receive`."""
        while len(self._bytes) < n_bytes:
            piece = self._receive()
            if not piece:
                raise EOFError
            self._bytes += piece
        data = bytes(memoryview(self._bytes)[:n_bytes])
        del self._bytes[:n_bytes]
        return data


def encode(message: dict[str, Any], arrays: Iterable[np.ndarray] = ()) -> bytes:
    """Return one frame: 4 bytes of length, a header of JSON, then the bytes of each array in C order."""
    arrays = list(arrays)
    header = {**message, "arrays": [[values.NATIVE[array.dtype], array.shape] for array in arrays]}
    # "replace" turns half a surrogate pair into "?", so that UTF-8 can encode everything that `decode` returns.
    text = _encode(header).encode("utf-8", "replace")
    return b"".join([_LENGTH.pack(len(text)), text, *(array.tobytes() for array in arrays)])


def decode(
    read: Callable[[int], bytes], *, max_header: int = MAX_HEADER, max_bytes: int
) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Read one frame; the inverse of `encode`.

    Args:
        read: read(n) -> exactly n bytes.
        max_header: largest size of the header, in bytes.
        max_bytes: largest size of all arrays together, in bytes.

    Returns:
        message, arrays (read-only).

    Raises:
        values.Malformed: these bytes are not a frame within the limits. Exceptions of `read` pass through.
    """
    (length,) = _LENGTH.unpack(read(_LENGTH.size))
    if length > max_header:
        raise values.Malformed("a header that is too long")
    message = parse(read(length))
    plans = _plans(message.pop("arrays", None), max_bytes)
    return message, [_array(dtype, shape, read(n_bytes)) for dtype, shape, n_bytes in plans]


def parse(text: bytes) -> dict[str, Any]:
    """Return a JSON object that has no floats, repeated keys, very long integers or invalid text.

    Raises values.Malformed for anything else.
    """
    try:
        message = _decode(text.decode("utf-8"))
        if b"\\u" in text:  # only an escape can stand for half a surrogate pair
            json.dumps(message, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise values.Malformed("a header that is not JSON as `encode` writes it") from error
    if type(message) is not dict:
        raise values.Malformed("a header that is not a JSON object")
    return message


def _plans(descriptions: Any, max_bytes: int) -> list[tuple[str, list[int], int]]:
    """Return the dtype, shape and size in bytes of each array that a header describes."""
    if type(descriptions) is not list:
        raise values.Malformed("a header without arrays")
    plans = []
    for item in descriptions:
        dtype, shape = item if type(item) is list and len(item) == 2 else (None, None)
        if type(dtype) is not str or dtype not in _ITEM_SIZES or type(shape) is not list or len(shape) > MAX_AXES:
            raise values.Malformed("an array of an unknown dtype or without a shape")
        if not all(type(size) is int and 0 <= size < 2**48 for size in shape):
            raise values.Malformed("an array with an impossible shape")
        n_bytes = _ITEM_SIZES[dtype] * math.prod(shape)
        max_bytes -= n_bytes
        if max_bytes < 0:
            raise values.Malformed("arrays that are too large")
        plans.append((dtype, shape, n_bytes))
    return plans


def _array(dtype: str, shape: list[int], data: bytes) -> np.ndarray:
    if dtype == "bool" and data.strip(b"\x00\x01"):
        raise values.Malformed("a bool that is neither True nor False")
    try:
        return np.frombuffer(data, dtype).reshape(shape)
    except ValueError as error:
        raise values.Malformed("an array with an impossible shape") from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) != len(pairs):
        raise ValueError("a repeated key")
    return keys


def _short_int(digits: str) -> int:
    if len(digits) > 40:  # the longest integers are the 128 bits of a random generator's state
        raise ValueError("a very long integer")
    return int(digits)


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not allowed in a header")


# Created once, because `json.dumps` and `json.loads` create a new one for each call with options.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_decode = json.JSONDecoder(
    object_pairs_hook=_without_repeats, parse_int=_short_int, parse_float=_refuse, parse_constant=_refuse
).decode
