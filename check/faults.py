"""Find what is wrong with an outcome: each fault is a kind and a sentence about it.

Only outcomes are compared; the function itself is never looked at.
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
from check.verdicts_of_test import verdicts_of_test
from check.words import listed

# In the order in which faults are reported; the last two are those of handed-in weights.
KINDS = (
    *("stopped", "blank", "raised", "type", "structure", "shape", "nan", "value", "no error", "dtype", "modified"),
    *("unusable", "error rate"),
)
FORM_KINDS = frozenset({"dtype", "modified"})  # the values are right, but not how they are kept or computed


@dataclass(frozen=True)
class Verdict:
    """Whether a case passed; if not, the kind of one fault and a sentence about it."""

    passed: bool
    kind: str = ""
    message: str = ""


CaseFaults = Sequence[Sequence[Verdict]]  # the faults of each case


def of_cases(key: Key, outcomes: Sequence[Outcome]) -> CaseFaults:
    """Return what is wrong with each outcome of an exercise, one outcome for each case of the key."""
    case_faults = [list(faults(key, case.expected, outcome)) for case, outcome in zip(key.cases, outcomes, strict=True)]
    return verdicts_of_test(key, outcomes, case_faults) if key.tests else case_faults


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
            yield Verdict(False, difference_found.kind, redacted or difference_found.message)
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
    sentence = f"`{key.function}` raised {raised.type}{_ended(message + where + instead)}"
    yield Verdict(False, "raised", sentence + hint(key, raised))


def _ended(sentence: str) -> str:
    """Return a sentence with one mark at its end; Python's messages bring their own, or none."""
    return sentence if sentence.endswith("?") else sentence.rstrip(". ") + "."


def _output_differences(key: Key, expected: Any, value: Any) -> Iterator[Difference]:
    """Yield the first output with wrong values, then the first output whose dtype has the wrong number of bytes."""
    if key.measure:
        yield from measured_differences(key, expected, value)
        return
    value = _unstacked(key, expected, value)
    if len(key.outputs) > 1 and not has_all_outputs(key, expected):  # only a mistake can return that
        outputs = [("the result", expected, value)]
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
    """Return whether a value is a tuple or list with one item for each output."""
    return isinstance(value, tuple | list) and len(value) == len(key.outputs)


def _unstacked(key: Key, expected: Any, value: Any) -> Any:
    """Return outputs of one shape as a tuple if they come stacked in one array, which unpacks like a tuple."""
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
    """Return how the value differs from a tuple of the right length, whatever its items are."""
    end = f"end with `return {', '.join(outputs)}`"
    if not isinstance(value, tuple | list):
        was = "a `return` is missing, or returns nothing" if value is None else f"the result is {a_value(value)}"
        return Difference("type", f"{was[0].upper()}{was[1:]}, where {len(outputs)} values are expected: {end}.")
    if len(value) != len(outputs):
        return Difference("structure", f"The result has {len(value)} items where {len(outputs)} are expected: {end}.")
    return None
