"""Convert values to a JSON tree and a list of arrays, without pickle, for answer keys and for the sandbox's pipes.

`pack` never fails: it replaces unsupported values by a `Foreign` with their type's name. `unpack` trusts nothing and
raises `Malformed`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from check import input_functions
from check.harms.harmed import Harmed

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = ("bool", *INTEGERS, "float16", "float32", "float64")
# dtype -> its name, which NumPy takes 10 microseconds to put together.
NATIVE = {np.dtype(name): name for name in DTYPES}
MAX_DEPTH = 24
MAX_NODES = 200_000

Tree = dict[str, Any]  # JSON; arrays are referred to by index


class Malformed(ValueError):
    """A tree or an array that `pack` cannot have made."""


@dataclass(frozen=True)
class Foreign:
    """Stands for a value of an unsupported type, such as a tensor or an array of objects."""

    type_name: str


FUNCTION = Foreign("function")  # in a question to the grader, a function that it may call back


def pack(value: Any) -> tuple[Tree, list[np.ndarray]]:
    """Convert a value.

    Args:
        value: None, bool, int, float, str, NumPy array, scalar, text or random generator, a function of
            `input_functions`, a `Harmed`, or tuples, lists and string-keyed dicts of these. A named tuple becomes a
            plain one.

    Returns:
        tree: JSON-serialisable; it refers to arrays by their index.
        arrays: list of C-contiguous arrays whose dtypes are in DTYPES. They may be the value's own arrays: send or copy
            them before anything changes the value.
    """
    arrays: list[np.ndarray] = []
    return _pack(value, arrays, depth=0), arrays


def unpack(tree: Any, arrays: Sequence[np.ndarray]) -> Any:
    """Return the value that `pack` converted. Raises Malformed."""
    return _unpack(tree, arrays, [MAX_NODES], set(), depth=0)


def has_structure_of(expected: Any, value: Any) -> bool:
    """Whether a value has the dicts, lists and tuples of the expected one, with the same names in its dicts.

    It looks at no more items than are expected, however many the value has.
    """
    if isinstance(expected, dict):
        fits = isinstance(value, dict) and len(value) == len(expected) and all(name in value for name in expected)
        return fits and all(has_structure_of(part, value[name]) for name, part in expected.items())
    if isinstance(expected, tuple | list):
        fits = isinstance(value, tuple | list) and len(value) == len(expected)
        return fits and all(has_structure_of(*pair) for pair in zip(expected, value, strict=True))
    return not isinstance(value, dict | tuple | list)


def _pack(value: Any, arrays: list[np.ndarray], depth: int) -> Tree:
    kind = type(value)
    if depth > MAX_DEPTH:
        return _foreign("value nested very deeply")
    if kind is np.ndarray or isinstance(value, np.generic) and kind is not np.str_:
        return _pack_array(value, arrays)
    if value is None:
        return {"kind": "none"}
    if kind is bool:
        return {"kind": "bool", "value": value}
    if kind is int:
        return {"kind": "int", "value": value} if abs(value) < 2**63 else _foreign("int of more than 64 bits")
    if kind is float:
        return {"kind": "float", "value": value.hex()}
    if kind is str or kind is np.str_:
        return {"kind": "str", "value": str(value[:10_000])}
    if isinstance(value, tuple) or kind is list:
        name = "list" if kind is list else "tuple"
        if len(value) > MAX_NODES:
            return _foreign(f"{name} of very many items")
        return {"kind": name, "items": [_pack(item, arrays, depth + 1) for item in value]}
    if kind is dict and all(type(key) is str for key in value) and len(value) <= MAX_NODES:
        return {"kind": "dict", "items": {key: _pack(item, arrays, depth + 1) for key, item in value.items()}}
    if kind is np.random.Generator and type(value.bit_generator) is np.random.PCG64:
        return {"kind": "generator", "state": value.bit_generator.state}
    if input_functions.is_named(value):
        return {"kind": "function", "name": value.__name__}
    for name, drawn in input_functions.DRAWN.items():
        if kind is drawn:
            return {"kind": name, "weights": _pack(value.weights, arrays, depth + 1)}
    if kind is Harmed:
        return {"kind": "harmed", "exercise": value.exercise, "harm": value.harm}
    if kind is Foreign:  # packed a second time, on the way out of the sandbox
        return _foreign(value.type_name)
    return _foreign(f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__)


def _pack_array(value: Any, arrays: list[np.ndarray]) -> Tree:
    array = np.asarray(value, order="C")
    if array.dtype not in NATIVE:
        return _foreign(f"NumPy array of {array.dtype}")
    arrays.append(array)
    return {"kind": "array", "index": len(arrays) - 1}


def _foreign(type_name: object) -> Tree:
    return {"kind": "foreign", "type": str(type_name)[:200]}


def _unpack(tree: Any, arrays: Sequence[np.ndarray], budget: list[int], seen: set[int], depth: int) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH + 1 or type(tree) is not dict:
        raise Malformed("a value that is too large, too deep or not a tree")
    try:
        match tree["kind"]:
            case "none":
                return None
            case "bool" | "str" as kind:
                return _exactly(tree["value"], {"bool": bool, "str": str}[kind])
            case "int":
                return _small(_exactly(tree["value"], int))
            case "float":
                return float.fromhex(_exactly(tree["value"], str))
            case "array":
                return np.array(arrays[_index(tree["index"], len(arrays), seen)])
            case "tuple" | "list" as kind:
                items = [_unpack(item, arrays, budget, seen, depth + 1) for item in _exactly(tree["items"], list)]
                return tuple(items) if kind == "tuple" else items
            case "dict":
                items = _exactly(tree["items"], dict)
                return {key: _unpack(item, arrays, budget, seen, depth + 1) for key, item in items.items()}
            case "generator":
                bits = np.random.PCG64()
                bits.state = _exactly(tree["state"], dict)
                return np.random.Generator(bits)
            case "function":
                return input_functions.by_name(_exactly(tree["name"], str))
            case "mixture" | "waves" as kind:
                return input_functions.DRAWN[kind](_unpack(tree["weights"], arrays, budget, seen, depth + 1))
            case "harmed":
                return Harmed(_exactly(tree["exercise"], str), _exactly(tree["harm"], str))
            case "foreign":
                return Foreign("".join(filter(str.isprintable, _exactly(tree["type"], str)))[:200])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Malformed(f"a malformed value: {error}") from error
    raise Malformed("a value of an unknown kind")


def _exactly(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise Malformed(f"{kind.__name__} expected")
    return value


def _small(number: int) -> int:
    if abs(number) >= 2**63:
        raise Malformed("an int of more than 64 bits")
    return number


def _index(index: Any, length: int, seen: set[int]) -> int:
    # Only one reference to each array, because a small tree could ask for any number of copies.
    if type(index) is not int or not 0 <= index < length or index in seen:
        raise Malformed("an array that was not sent")
    seen.add(index)
    return index
