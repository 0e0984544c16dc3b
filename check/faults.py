"""Find what is wrong with an outcome: each fault is a kind and a sentence about it.

It compares only outcomes, and never looks at the function itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from check.calling import Outcome, Raised
from check.comparing import Difference, a_value, difference, precision_difference
from check.hints import hint
from check.key import UNJUDGED, Key
from check.measuring import measured_differences
from check.raised_words import about_operands, in_its_own_words, in_our_words
from check.words import listed

# In the order in which faults are reported; the last two are those of handed-in weights.
KINDS = (
    *("stopped", "blank", "raised", "type", "structure", "shape", "nan", "value", "no error", "dtype", "modified"),
    *("unusable", "error rate"),
)
FORM_KINDS = frozenset({"dtype", "modified"})  # right values in a wrong dtype, or inputs that were changed


@dataclass(frozen=True)
class Verdict:
    """Whether a case passed; if not, the kind of one fault, a sentence about it, and the share that is right anyway."""

    passed: bool
    kind: str = ""
    message: str = ""
    share: float = 0.0


CaseFaults = Sequence[Sequence[Verdict]]  # the faults of each case


def faults(key: Key, expected: Outcome, outcome: Outcome) -> Iterator[Verdict]:
    """Yield what is wrong with an outcome, the most important fault first."""
    if outcome.stopped:
        yield Verdict(False, "stopped", f"`{key.function}` {outcome.stopped}.")
    elif outcome.raised:
        yield from _wrong_exception(key, expected, outcome.raised)
    elif expected.raised:
        message = f"`{key.function}` should raise {expected.raised.type} here, but returned a value."
        yield Verdict(False, "no error", message)
    else:
        for difference_found in _output_differences(key, expected.value, outcome.value):
            redacted = "" if outcome.quoted else difference_found.redacted
            sentence = redacted or difference_found.message
            yield Verdict(False, difference_found.kind, sentence, difference_found.share)
        if changed := [name for name in outcome.modified if name not in expected.modified]:
            names = listed(f"`{name}`" for name in changed)
            yield Verdict(False, "modified", f"`{key.function}` changed its input {names} in place: work on a copy.")


def _wrong_exception(key: Key, expected: Outcome, raised: Raised) -> Iterator[Verdict]:
    if expected.raised and expected.raised.type == raised.type:
        return
    if raised.type == "NotImplementedError":
        blank = raised.message if raised.quoted and raised.message.isidentifier() else key.function
        what = f"`{key.function}` is" if blank == key.function else f"`{key.function}` calls `{blank}`, which is"
        yield Verdict(False, "blank", f"{what} not written yet.")
        return
    instead = f"; it should raise {expected.raised.type} here" if expected.raised else ""
    where = f" ({raised.line})" if raised.line else ""
    said = in_our_words(raised) or (raised.message if raised.quoted else "")
    sentence = f"`{key.function}` raised {raised.type}{_ended(f': {said}' * bool(said) + where + instead)}"
    yield Verdict(False, "raised", sentence + about_operands(raised) + hint(key, raised) + in_its_own_words(raised))


def _ended(sentence: str) -> str:
    """End a sentence with exactly one mark, because some of Python's messages have one."""
    return sentence if sentence.endswith("?") else sentence.rstrip(". ") + "."


def _output_differences(key: Key, expected: Any, value: Any) -> Iterator[Difference]:
    """Yield the first output with wrong values, then the first output whose dtype has the wrong number of bytes."""
    if key.measure:
        yield from measured_differences(key, expected, value)
        return
    value = _unstacked(key, expected, value)
    if len(key.outputs) > 1 and not has_all_outputs(key, expected):  # `expected` comes from a mistake
        outputs = [("the result", expected, value)]
    elif len(key.outputs) == 1 and value is None and expected is not None:
        yield Difference("type", f"`{next(iter(key.outputs))}` is None: a `return` is missing, or returns nothing.")
        return
    elif len(key.outputs) > 1 and (structure := _structure_difference(tuple(key.outputs), value)):
        yield structure
        return
    else:
        outputs = judged_outputs(key, expected, value)
    in_values = (difference(e, v, name, key.outputs.get(name, ""), key.tolerance) for name, e, v in outputs)
    in_dtype = (precision_difference(e, v, name) for name, e, v in outputs)
    for differences in (in_values, in_dtype):
        yield from islice(filter(None, differences), 1)


def has_all_outputs(key: Key, value: Any) -> bool:
    """Whether a value is a tuple or list with one item for each output."""
    return isinstance(value, tuple | list) and len(value) == len(key.outputs)


def _unstacked(key: Key, expected: Any, value: Any) -> Any:
    """Split outputs that come stacked in one array, because it unpacks like a tuple."""
    if not isinstance(value, np.ndarray) or len(key.outputs) < 2 or not has_all_outputs(key, expected):
        return value
    stacked = [(len(expected), *np.shape(part)) for part in expected if not isinstance(part, dict | list | tuple)]
    return tuple(value) if stacked == [value.shape] * len(expected) else value


def judged_outputs(key: Key, expected: Any, value: Any) -> list[tuple[str, Any, Any]]:
    """Return (name, expected, value) of each judged output, in the order of the derivation.

    An error in one output usually causes errors in the later ones, so the first wrong output is the one to report.
    """
    if len(key.outputs) == 1:
        return [(*key.outputs, expected, value)]
    by_name = {name: (name, e, v) for name, e, v in zip(key.outputs, expected, value, strict=True)}
    return [by_name[name] for name in key.order if key.outputs[name] != UNJUDGED]


def _structure_difference(outputs: Sequence[str], value: Any) -> Difference | None:
    """How a value differs from a tuple of the right length, whatever its items are."""
    end = f"end with `return {', '.join(outputs)}`"
    if not isinstance(value, tuple | list):
        was = "a `return` is missing, or returns nothing" if value is None else f"the result is {a_value(value)}"
        return Difference("type", f"{was[0].upper()}{was[1:]}, where {len(outputs)} values are expected: {end}.")
    if len(value) != len(outputs):
        return Difference("structure", f"The result has {len(value)} items where {len(outputs)} are expected: {end}.")
    return None
