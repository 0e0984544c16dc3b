"""The judge: holds what a function came to against an answer key, and says what is wrong first.

It runs in the student's notebook with the public key, and in the grading process with the secret one.
It sees outcomes, never the function.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from autograder.check.calling import Outcome, Raised
from autograder.check.comparing import TOLERANCES, Difference, difference
from autograder.check.key import UNJUDGED, Case, Key, Mistake
from autograder.check.values import pack
from autograder.check.words import listed

# What is reported first when several cases fail in several ways.
KINDS = ("stopped", "blank", "raised", "type", "structure", "shape", "dtype", "nan", "modified", "value", "no error")


@dataclass(frozen=True)
class Verdict:
    """What the judge says of one case: passed, or the kind of the first thing wrong and a sentence about it."""

    passed: bool
    kind: str = ""
    message: str = ""


@dataclass(frozen=True)
class Aspect:
    """One named idea of an exercise, with its points: earned whole, when every one of its cases passes."""

    name: str
    points: float
    earned: float
    passed: int
    total: int

    @property
    def holds(self) -> bool:
        return self.passed == self.total


@dataclass(frozen=True)
class Result:
    """How one exercise came out. It holds no expected value, so all of it may be shown to the student.

    verdict and case: the first thing wrong and the name of the case it was seen on; None and "" when all is well.
    mistake: the known misconception that explains the answers, if one does.
    section: title of the section to read again.
    mend_first: exercises that this one calls and that are wrong themselves.
    """

    function: str
    earned: float
    points: float
    aspects: tuple[Aspect, ...]
    verdict: Verdict | None
    case: str
    mistake: Mistake | None
    section: str
    mend_first: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.verdict is None

    def to_json(self) -> dict[str, Any]:
        """The result as a JSON-serialisable dict."""
        return asdict(self)

    @staticmethod
    def from_json(fields: dict[str, Any]) -> "Result":
        """The result that `to_json` wrote."""
        return Result(
            **fields
            | {
                "aspects": tuple(Aspect(**aspect) for aspect in fields["aspects"]),
                "verdict": Verdict(**fields["verdict"]) if fields["verdict"] else None,
                "mistake": Mistake(**fields["mistake"]) if fields["mistake"] else None,
                "mend_first": tuple(fields["mend_first"]),
            }
        )


def judge(key: Key, case: Case, outcome: Outcome) -> Verdict:
    """Hold one outcome against one case."""
    return _compare(key, case.expected, outcome)


def grade(key: Key, outcomes: list[Outcome]) -> Result:
    """Judge a whole exercise.

    Args:
        key: its answer key.
        outcomes: one for each case of the key, in the key's order.

    Returns:
        Result. Points are earned aspect by aspect; none are, when no case that asks for a value passes
        (a function that only ever raises would otherwise earn the points for raising).
    """
    verdicts = [judge(key, case, outcome) for case, outcome in zip(key.cases, outcomes, strict=True)]
    valued = [v.passed for v, case in zip(verdicts, key.cases, strict=True) if case.expected.raised is None]
    aspects = tuple(_aspect(key, name, verdicts, earns=any(valued)) for name in key.aspects)
    first = first_failing(key, verdicts)
    return Result(
        function=key.function,
        earned=sum(aspect.earned for aspect in aspects),
        points=key.points,
        aspects=aspects,
        verdict=None if first is None else verdicts[first],
        case="" if first is None else key.cases[first].name,
        mistake=None if first is None else known_mistake(key, outcomes),
        section=key.section,
    )


def blame_what_is_used(result: Result, key: Key, failing: set[str]) -> Result:
    """The result, saying which of the exercises that this one calls are wrong themselves.

    failing: names of the exercises of the same notebook that do not pass.
    """
    return result if result.passed else replace(result, mend_first=tuple(name for name in key.uses if name in failing))


def first_failing(key: Key, verdicts: Sequence[Verdict]) -> int | None:
    """Index of the case to show: the first kind of trouble, then the smallest input. None if all passed."""
    failing = [i for i, verdict in enumerate(verdicts) if not verdict.passed]
    return min(failing, key=lambda i: (KINDS.index(verdicts[i].kind), key.cases[i].size, i), default=None)


def known_mistake(key: Key, outcomes: Sequence[Outcome]) -> Mistake | None:
    """The misconception whose outcomes equal these on every case, or None."""
    for slug, mistake in key.mistakes.items():
        pairs = zip(key.cases, outcomes, strict=True)
        if all(same(key, case, case.mistakes[slug], outcome) for case, outcome in pairs):
            return mistake
    return None


def same(key: Key, case: Case, expected: Outcome, outcome: Outcome) -> bool:
    """Whether two outcomes of a case are alike, up to the rounding of the case's own dtype.

    A mistake may promote float32 to float64; its digits are no better for that.
    """
    dtypes = {array.dtype.name for array in pack(case.expected.value)[1]}
    coarsest = max([key.tolerance, *(TOLERANCES[name] for name in dtypes & set(TOLERANCES))])
    return _compare(replace(key, tolerance=coarsest), expected, outcome).passed


def _aspect(key: Key, name: str, verdicts: Sequence[Verdict], earns: bool) -> Aspect:
    passed = [v.passed for v, case in zip(verdicts, key.cases, strict=True) if case.aspect == name]
    earned = key.aspects[name] if earns and all(passed) else 0.0
    return Aspect(name, key.aspects[name], earned, sum(passed), len(passed))


def _compare(key: Key, expected: Outcome, outcome: Outcome) -> Verdict:
    if outcome.stopped:
        return Verdict(False, "stopped", f"`{key.function}` {outcome.stopped}.")
    if outcome.raised:
        return _compare_raised(key, expected, outcome.raised)
    if expected.raised:
        message = f"`{key.function}` should raise {expected.raised.type} here, and returned a value."
        return Verdict(False, "no error", message)
    wrong = _first_wrong_output(key, expected.value, outcome.value)
    if wrong and wrong.kind != "value":
        return Verdict(False, wrong.kind, wrong.message)
    if set(outcome.modified) != set(expected.modified):
        names = listed(f"`{name}`" for name in outcome.modified)
        return Verdict(False, "modified", f"`{key.function}` changed its input {names} in place: work on a copy.")
    return Verdict(False, wrong.kind, wrong.message) if wrong else Verdict(True)


def _compare_raised(key: Key, expected: Outcome, raised: Raised) -> Verdict:
    if expected.raised and expected.raised.type == raised.type:
        return Verdict(True)
    if raised.type == "NotImplementedError":
        return Verdict(False, "blank", f"`{key.function}` is not written yet.")
    instead = f"; it should raise {expected.raised.type} here" if expected.raised else ""
    where = f" ({raised.line})" if raised.line else ""
    message = f": {raised.message}" if raised.message else ""
    # Python names the function if it was the call that went wrong, and not the body.
    names = re.match(rf"{key.function}(\.__init__|\.forward)?\(\) .*\bargument", raised.message)
    renamed = " Its parameters must have the names that the released cell gave them." if names else ""
    return Verdict(False, "raised", f"`{key.function}` raised {raised.type}{message}{where}{instead}.{renamed}")


def _first_wrong_output(key: Key, expected: Any, value: Any) -> Difference | None:
    if len(key.outputs) > 1 and not _is_frame(key, expected):  # only a mistake's value can be that
        return difference(expected, value, "the result", "", key.tolerance)
    frame = None if len(key.outputs) == 1 else _frame_difference(expected, value)
    pairs = judged_outputs(key, expected, value) if frame is None else ()
    found = (difference(e, v, name, key.outputs[name], key.tolerance) for name, e, v in pairs)
    return frame or next(filter(None, found), None)


def _is_frame(key: Key, value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == len(key.outputs)


def judged_outputs(key: Key, expected: Any, value: Any) -> list[tuple[str, Any, Any]]:
    """(name, expected, value) of each judged output, in the order of the derivation: later ones are consequences."""
    if len(key.outputs) == 1:
        return [(*key.outputs, expected, value)]
    together = {name: (name, e, v) for name, e, v in zip(key.outputs, expected, value, strict=True)}
    return [together[name] for name in key.order if key.outputs[name] != UNJUDGED]


def _frame_difference(expected: Sequence, value: Any) -> Difference | None:
    """Whether the value is a tuple of the right length at all; what is in it comes later."""
    inside = len(value) if isinstance(value, tuple | list) else 0
    return difference((None,) * len(expected), (None,) * inside if inside else value, "the result")
