"""Say which right function a student's test rejects, and which wrong functions it accepts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from check.calling import Outcome
from check.comparing import a_value
from check.faults import CaseFaults
from check.harms.harmed import bound
from check.key import Case, Key


def bound_key(key: Key, own: Mapping[str, Any]) -> Key:
    """Return a key whose cases hold the harmed functions themselves."""
    return replace(key, cases=tuple(replace(case, inputs=bound(case.inputs, own)) for case in key.cases))


def with_rejections(key: Key, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes of an exercise, where a test's exceptions count as rejections; see `rejection`.

    If a test rejects a right function in one aspect, the rejection counts in all aspects. Otherwise, a test that knows
    nothing could accept the first function of each aspect and all others with its values.
    """
    if not key.tests:
        return list(outcomes)
    pairs = [(case, rejection(case.expected, outcome)) for case, outcome in zip(key.cases, outcomes, strict=True)]
    rejected = {
        _function(case): outcome
        for case, outcome in pairs
        if case.expected.value and outcome.value is not True and not outcome.stopped
    }
    return [outcome if outcome.stopped else rejected.get(_function(case), outcome) for case, outcome in pairs]


def _function(case: Case) -> Any:
    """Return the function of a case, which several aspects may share."""
    (function,) = case.inputs.values()
    return function


def rejection(expected: Outcome, outcome: Outcome) -> Outcome:
    """Count an exception that a test raises for a wrong function as a rejection.

    The function may have raised it, or the result did not fit into the test's computations. For a right function the
    exception stays, because the student should read it.
    """
    is_written = outcome.raised and outcome.raised.type != "NotImplementedError"
    return Outcome(value=False) if is_written and expected.value is False else outcome


def verdicts_of_test(key: Key, outcomes: Sequence[Outcome], case_faults: CaseFaults) -> CaseFaults:
    """Return the faults of each case with sentences about the tested functions."""
    rejected = {case.name for case, outcome in zip(key.cases, outcomes, strict=True) if _finds(case, outcome)}
    accepted = {case.name for case, outcome in zip(key.cases, outcomes, strict=True) if _misses(case, outcome)}
    wrong = {case.name for case in key.cases if not case.expected.value}
    count = f"{len(rejected - accepted)} of {len(wrong)} wrong functions found"
    return [
        [replace(fault, message=_sentence(case, outcome.value, count)) for fault in faults[:1]]
        if faults and not (outcome.raised or outcome.stopped)
        else faults
        for case, outcome, faults in zip(key.cases, outcomes, case_faults, strict=True)
    ]


def on_case(message: str, name: str) -> str:
    """Return a message with the name of the case that it is about, unless the message names the case itself."""
    return message if name in message else f"{message} (On the case “{name}”.)"


def _sentence(case: Case, value: Any, count: str) -> str:
    if type(value) is not bool:
        return (
            f"Your test returns {a_value(value)}. To accept a function, return True or nothing; to reject it, return "
            f"False or let an `assert` fail."
        )
    if case.expected.value:
        return f"Your test rejects {case.name}."
    return f"Your test accepts {case.name} ({count})."


def _finds(case: Case, outcome: Outcome) -> bool:
    return not case.expected.value and outcome.value is False


def _misses(case: Case, outcome: Outcome) -> bool:
    return not case.expected.value and outcome.value is not False
