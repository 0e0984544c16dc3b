"""Hints about exceptions that many students meet, found in the exception's message and in the line that raised it."""

import re

from check.calling import Raised
from check.key import Key
from check.words import listed

_PRODUCT = re.compile(r"^matmul: |not aligned|remapped shapes")
_BROADCAST = re.compile(r"operands could not be broadcast together with shapes \(([\d,]+)\) \(([\d,]+)\)")
_TUPLE = re.compile(r"inhomogeneous shape|'tuple' object has no attribute|unsupported operand .*'tuple'")
_TRANSPOSED = re.compile(r"\.T\b|\.transpose\(\)")
_AXES_FROM_THE_FRONT = re.compile(r"\b(?:swapaxes|moveaxis|transpose)\((?:\w+, *)?\d+, *\d+[\d, ]*\)")


def hint(key: Key, raised: Raised) -> str:
    """Return a sentence, with a space in front, on how an exception may have come about; "" if none is known."""
    return (
        _about_the_call(key, raised)
        or _about_a_lost_axis(raised.message)
        or _about_axes(raised)
        or _about_a_truth_value(raised)
        or _about_a_tuple(raised)
    )


def _about_the_call(key: Key, raised: Raised) -> str:
    """Return how a function is called, if the call itself failed: Python's message begins with its name then."""
    bad_call = re.match(rf"({key.function}|<lambda>)(\.__init__|\.forward)?\(\) (.*\bargument.*)", raised.message)
    if not bad_call:
        return ""
    _, method, problem = bad_call.groups()
    if method:
        return " Its parameters must have the names that the released cell gave them."
    parameters = list(dict.fromkeys(name for case in key.cases for name in case.inputs))
    call = f" `check` calls `{key.function}({', '.join(parameters)})`"
    missing = re.findall(r"'(\w+)'", problem) if problem.startswith("missing ") else []
    if not missing or set(missing) & set(parameters):
        return f"{call}: your parameters must have these names."
    # The names come from a message that a student may have forged.
    more = f"also needs {listed(f'`{name}`' for name in missing)}" if raised.quoted else "needs more than that"
    return f"{call}; yours {more}."


def _about_a_lost_axis(message: str) -> str:
    """Return a hint if two shapes cannot be broadcast because one of them lost its last axis."""
    shapes = _BROADCAST.match(message)
    if not shapes:
        return ""
    one, other = ([int(n) for n in shape.strip(",").split(",")] for shape in shapes.groups())
    if one[:-1] != other and other[:-1] != one:
        return ""
    return " Was an axis summed away? `keepdims=True` keeps it, with length 1, and the shapes fit."


def _about_axes(raised: Raised) -> str:
    """Return a hint if a line that raised exchanges axes that a batch moves, or uses `np.dot`."""
    if raised.type not in ("ValueError", "AxisError"):
        return ""
    if from_the_front := _AXES_FROM_THE_FRONT.search(raised.line):
        return (
            f" `{from_the_front[0]}` counts axes from the front, and each batch axis moves the others back: count from "
            "the end. -1 and -2 are the last two, with and without a batch."
        )
    if not _PRODUCT.search(raised.message):
        return ""
    if transposed := _TRANSPOSED.search(raised.line):
        return (
            f" `{transposed[0]}` reverses all axes, those of a batch too: "
            "`np.swapaxes` with -1 and -2 exchanges only the last two."
        )
    if "dot(" in raised.line:
        return " `np.dot` does not pair the matrices of two batches: `@` does."
    return ""


def _about_a_truth_value(raised: Raised) -> str:
    """Return a hint if an array is used where Python wants one truth value."""
    if not raised.message.startswith("The truth value of an array"):
        return ""
    return (
        " `if`, `and`, `or` and `not` want one True or False. For arrays, write `&`, `|` and `~`, which work entry by "
        "entry, and `np.where(mask, a, b)` in place of `if`."
    )


def _about_a_tuple(raised: Raised) -> str:
    """Return a hint if a tuple is used as an array."""
    if not _TUPLE.search(raised.message):
        return ""
    return (
        " Did you use a tuple as an array? A function that ends with `return output, cache` returns a tuple: take it "
        "apart, `output, cache = ...`."
    )
