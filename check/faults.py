"""What is wrong with one outcome, held against what was expected: each fault is a kind and a sentence about it.

It sees outcomes, never the function.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from check.calling import Outcome, Raised
from check.comparing import Difference, a_value, difference, precision_difference
from check.key import UNJUDGED, Key
from check.words import listed

# What is reported first when several things are wrong: what was meant, then how finely and how politely it was done.
KINDS = ("stopped", "blank", "raised", "type", "structure", "shape", "nan", "value", "no error", "dtype", "modified")
BROADCAST = re.compile(r"operands could not be broadcast together with shapes \(([\d,]+)\) \(([\d,]+)\)")
MEANT = frozenset(KINDS) - {"dtype", "modified"}


@dataclass(frozen=True)
class Verdict:
    """What the judge says of one case: passed, or the kind of the first thing wrong and a sentence about it."""

    passed: bool
    kind: str = ""
    message: str = ""


def faults(key: Key, expected: Outcome, outcome: Outcome) -> Iterator[Verdict]:
    """What is wrong with an outcome, the first thing first; how finely numbers are kept is no part of their value."""
    if outcome.stopped:
        yield Verdict(False, "stopped", f"`{key.function}` {outcome.stopped}.")
    elif outcome.raised:
        yield from _wrong_exception(key, expected, outcome.raised)
    elif expected.raised:
        message = f"`{key.function}` should raise {expected.raised.type} here, and returned a value."
        yield Verdict(False, "no error", message)
    else:
        for wrong in _wrong_output(key, expected.value, outcome.value):
            yield Verdict(False, wrong.kind, wrong.message)
        if changed := [name for name in outcome.modified if name not in expected.modified]:
            names = listed(f"`{name}`" for name in changed)
            yield Verdict(False, "modified", f"`{key.function}` changed its input {names} in place: work on a copy.")


def _wrong_exception(key: Key, expected: Outcome, raised: Raised) -> Iterator[Verdict]:
    if expected.raised and expected.raised.type == raised.type:
        return
    if raised.type == "NotImplementedError":
        yield Verdict(False, "blank", f"`{key.function}` is not written yet.")
        return
    instead = f"; it should raise {expected.raised.type} here" if expected.raised else ""
    where = f" ({raised.line})" if raised.line else ""
    message = f": {raised.message}" if raised.message and raised.quoted else ""
    # Python names the function if it was the call that went wrong, and not the body.
    names = re.match(rf"{key.function}(\.__init__|\.forward)?\(\) .*\bargument", raised.message)
    renamed = " Its parameters must have the names that the released cell gave them." if names else ""
    guess = renamed or _lost_axis(raised.message)
    yield Verdict(False, "raised", f"`{key.function}` raised {raised.type}{message}{where}{instead}.{guess}")


def _lost_axis(message: str) -> str:
    """A guess at what is behind two shapes that cannot be broadcast: the one is the other without its last axis."""
    if not (
        found := re.match(r"operands could not be broadcast together with shapes \(([\d,]+)\) \(([\d,]+)\)", message)
    ):
        return ""
    one, other = ([int(n) for n in shape.strip(",").split(",")] for shape in found.groups())
    if one[:-1] != other and other[:-1] != one:
        return ""
    return " Was an axis summed away? `keepdims=True` keeps it, with length 1, and the shapes fit."


def _wrong_output(key: Key, expected: Any, value: Any) -> Iterator[Difference]:
    """The first output that is not what was meant, then the first that is kept in another float dtype."""
    value = _unstacked(key, expected, value)
    if len(key.outputs) > 1 and not _is_frame(key, expected):  # only a mistake's value can be that
        outputs = [("the result", expected, value)]
    elif len(key.outputs) > 1 and (wrong := _frame_difference(tuple(key.outputs), value)):
        yield wrong
        return
    else:
        outputs = judged_outputs(key, expected, value)
    meant = (difference(e, v, name, key.outputs.get(name, ""), key.tolerance) for name, e, v in outputs)
    finer = (precision_difference(e, v, name) for name, e, v in outputs)
    for found in (meant, finer):
        yield from islice(filter(None, found), 1)


def _is_frame(key: Key, value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == len(key.outputs)


def _unstacked(key: Key, expected: Any, value: Any) -> Any:
    """Outputs of one shape may come stacked in one array: unpacking it gives them as unpacking a tuple does."""
    if not isinstance(value, np.ndarray) or len(key.outputs) < 2 or not _is_frame(key, expected):
        return value
    shapes = {np.shape(part) for part in expected}
    return tuple(value) if shapes == {value.shape[1:]} and len(value) == len(key.outputs) else value


def judged_outputs(key: Key, expected: Any, value: Any) -> list[tuple[str, Any, Any]]:
    """(name, expected, value) of each judged output, in the order of the derivation: later ones are consequences."""
    if len(key.outputs) == 1:
        return [(*key.outputs, expected, value)]
    together = {name: (name, e, v) for name, e, v in zip(key.outputs, expected, value, strict=True)}
    return [together[name] for name in key.order if key.outputs[name] != UNJUDGED]


def _frame_difference(outputs: Sequence[str], value: Any) -> Difference | None:
    """Whether the value is a tuple of the right length at all; what is in it comes later."""
    end = f"end with `return {', '.join(outputs)}`"
    if not isinstance(value, tuple | list):
        was = "a `return` is missing, or returns nothing" if value is None else f"the result is {a_value(value)}"
        return Difference("type", f"{was[0].upper()}{was[1:]}, where {len(outputs)} values are expected: {end}.")
    if len(value) != len(outputs):
        return Difference("structure", f"The result has {len(value)} items where {len(outputs)} are expected: {end}.")
    return None
