"""Replace matrices by what they do, before the judge compares them, and describe the first difference.

A predicted order of runs is compared with runs that were made. Without a measure, an outcome stays as it is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from check.calling import Outcome, run
from check.comparing import Difference
from check.key import Case, Key
from check.measures import MEASURES, NO_POSITION, SURE, Malformed, bands, properties
from check.predictions import ORDER, in_words, predicted


def outcomes_of(function: Callable, key: Key) -> list[Outcome]:
    """Call a function on the inputs of every case. Return its outcomes as the judge compares them."""
    return measured_outcomes(key, [run(function, case.inputs) for case in key.cases])


def measured_outcomes(key: Key, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes as the judge compares them. outcomes: what the calls returned, one for each case."""
    return [measured(key.measure, case, outcome) for case, outcome in zip(key.cases, outcomes, strict=True)]


def measured(measure: str, case: Case, outcome: Outcome) -> Outcome:
    """Replace the matrices in an outcome by what they do, or by a sentence if they are malformed.

    measure: its name; "" returns the outcome as it is.
    """
    if not measure or outcome.raised or outcome.stopped:
        return outcome
    try:
        value: Any = _measured_value(measure, case, outcome.value)
    except Malformed as error:
        value = str(error)
    return replace(outcome, value=value)


def _measured_value(measure: str, case: Case, value: Any) -> tuple:
    if measure == ORDER:
        return predicted(value, *case.inputs.values(), **case.unseen)
    with np.errstate(all="ignore"):
        attention = MEASURES[measure](value, **case.inputs, **unseen_inputs(case))
    return properties(attention, case.unseen["asks"])


def shown_inputs(key: Key, case: Case) -> dict[str, Any]:
    """The inputs of a case that a student may see: not the results of runs that the student should predict."""
    return case.inputs if key.measure == ORDER else case.inputs | unseen_inputs(case)


def unseen_inputs(case: Case) -> dict[str, Any]:
    """Return the inputs that only the measure gets, without the names of the properties that the case asks for."""
    return {name: value for name, value in case.unseen.items() if name != "asks"}


def measured_differences(key: Key, expected: Any, value: Any) -> Iterator[Difference]:
    """Yield the first difference between two measured values of a case. They contain nothing that is secret."""
    if isinstance(value, str) or isinstance(expected, str):
        if value != expected:
            yield Difference("structure", value if isinstance(value, str) else "The value should be malformed.")
        return
    if key.measure == ORDER:
        order, reasons, counts, sentence = value
        if not all(np.array_equal(right, own) for right, own in zip(expected[:2], value[:2], strict=True)):
            redacted = in_words(order, reasons, counts)
            yield Difference("value", sentence or "", redacted, counts[0] / counts[1])
        return
    for name, right, own in zip(key.outputs, expected, value, strict=True):
        if right is not None and (wrong := bands(name, right) != bands(name, own)).any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            yield Difference("value", _sentence(name, place, right, own))
            return


def _sentence(name: str, place: tuple[int, ...], expected: np.ndarray, value: np.ndarray) -> str:
    """A sentence about the first position, place[-1], that has a wrong property."""
    where = f"In a sentence of {expected.shape[-1]} words,"
    if len(place) == 3:
        where = f"Head {place[0]}: in a sentence of {expected.shape[-1]} words,"
    position, right, own = place[-1], int(expected[place]), int(value[place])
    if name == "attended" and own == NO_POSITION:
        return f"{where} position {position} does not attend most to one position; it should to position {right}."
    if name == "attended":
        return f"{where} position {position} attends most to position {own}, not to position {right}."
    if name == "sharpness":
        return (
            f"{where} position {position} gives {own}% of its weight to one position, and should give at least {SURE}%."
        )
    return f"{where} the output at position {position} is largest for word {own}, not for word {right}."
