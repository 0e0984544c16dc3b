"""Judge an exercise: compare its outcomes with an answer key, give points, and say what is wrong first.

The judge runs in the student's notebook with the public key, and in the grading process with a secret one.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from check.calling import Outcome
from check.causes import Explanation, explain
from check.faults import CaseFaults, Verdict, faults
from check.key import Case, Key, Mistake
from check.predictions import ORDER
from check.verdicts_of_test import verdicts_of_test, with_rejections


@dataclass(frozen=True)
class Aspect:
    """One aspect of an exercise. It earns all of its points if all of its cases pass, and none otherwise.

    An aspect that asks for a prediction earns points for the share that is right; see `points_for_share`.
    """

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
    """The result of one exercise. It holds no expected value, so students may see all of it.

    verdict and case: the first fault and the name of the case that has it; None and "" if the exercise passes.
    mistakes: the known mistakes that explain the outcomes; the first explains most.
    remarks: a sentence for each kind of fault that no mistake explains.
    section: title of the section to read again.
    mend_first: exercises that this one calls and that are wrong themselves.
    answered: exercises that this one calls, for which grading used a right function because the student's is wrong.
    found: sentences about what was measured, whether it passes or not.
    """

    function: str
    earned: float
    points: float
    aspects: tuple[Aspect, ...]
    verdict: Verdict | None
    case: str
    mistakes: tuple[Mistake, ...]
    section: str
    mend_first: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    found: tuple[str, ...] = ()

    @property
    def mistake(self) -> Mistake | None:
        """The known mistake that explains most of the outcomes, or None."""
        return next(iter(self.mistakes), None)

    @property
    def passed(self) -> bool:
        return self.verdict is None

    @property
    def blank(self) -> bool:
        """Whether the exercise is still the stub that was handed out."""
        any_passed = any(aspect.passed for aspect in self.aspects)
        return self.verdict is not None and self.verdict.kind == "blank" and not any_passed

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(fields: dict[str, Any]) -> "Result":
        """Return the result that `to_json` wrote, also in the older format, with at most one mistake."""
        older = [fields["mistake"]] if fields.get("mistake") else []
        defaults = {"mistakes": older, "remarks": (), "answered": (), "found": ()}
        fields = defaults | {name: fields[name] for name in fields if name != "mistake"}
        return Result(
            **fields
            | {
                "aspects": tuple(Aspect(**aspect) for aspect in fields["aspects"]),
                "verdict": Verdict(**fields["verdict"]) if fields["verdict"] else None,
                "mistakes": tuple(map(_mistake, fields["mistakes"])),
                "mend_first": tuple(fields["mend_first"]),
                "remarks": tuple(fields["remarks"]),
                "answered": tuple(fields["answered"]),
                "found": tuple(fields["found"]),
            }
        )


def judge(key: Key, case: Case, outcome: Outcome) -> Verdict:
    return next(faults(key, case.expected, outcome), Verdict(True))


def faults_of_cases(key: Key, outcomes: Sequence[Outcome]) -> CaseFaults:
    """Return what is wrong with each outcome of an exercise, one outcome for each case of the key."""
    case_faults = [list(faults(key, case.expected, outcome)) for case, outcome in zip(key.cases, outcomes, strict=True)]
    return verdicts_of_test(key, outcomes, case_faults) if key.tests else case_faults


def grade(key: Key, outcomes: Sequence[Outcome]) -> Result:
    """Judge a whole exercise.

    Args:
        key: its answer key.
        outcomes: one for each case of the key, in the key's order.

    Returns:
        Result. Each aspect earns points by itself. But if no case that asks for a value passes, no aspect earns points,
        because a function that always raises must not get the points for raising.
    """
    outcomes = with_rejections(key, outcomes)
    case_faults = faults_of_cases(key, outcomes)
    return result_of(key, case_faults, explain(key, outcomes, case_faults))


def result_of(key: Key, case_faults: CaseFaults, why: Explanation | None) -> Result:
    aspects = aspects_of(key, case_faults)
    shown = case_faults[why.shown][0] if why else None
    remarks = why.remarks if why else ()
    if why and shown and why.relation:
        if shown.kind == "value":
            shown = replace(shown, message=f"{shown.message} {why.relation}")
        else:
            remarks = (*remarks, f"{why.relation} (On the cases with wrong values.)")
    return Result(
        function=key.function,
        earned=sum(aspect.earned for aspect in aspects),
        points=key.points,
        aspects=aspects,
        verdict=shown,
        case=key.cases[why.shown].name if why else "",
        mistakes=tuple(map(key.mistake, why.mistakes)) if why else (),
        section=key.section,
        remarks=remarks,
    )


def aspects_of(key: Key, case_faults: CaseFaults) -> tuple[Aspect, ...]:
    """Return what an exercise earns, aspect by aspect."""
    judged = list(zip(key.cases, case_faults, strict=True))
    can_earn = any(not case_has for case, case_has in judged if case.expected.raised is None)
    return tuple(
        _aspect(key, name, [case_has for case, case_has in judged if case.aspect == name], can_earn)
        for name in key.aspects
    )


def points_for_share(points: float, share: float) -> float:
    """Return the points for a share of right pairs or reasons, from 0 to 1.

    A share of two thirds earns nothing, because a guess gets half of them right. From there the points grow evenly, in
    steps of half a point, and only a share of 1 earns all.
    """
    return max(0.0, math.floor(2 * points * (3 * share - 2) + 1e-9) / 2)


def _mistake(fields: dict[str, str]) -> Mistake:
    """A mistake from a report; in the older format its message ended with the section to reread."""
    if "reread" not in fields:
        ending = re.fullmatch(r"(?P<message>.*) Reread '(?P<reread>.+)'\.", " ".join(fields["message"].split()))
        fields = fields | (ending.groupdict() if ending else {})
    return Mistake(**fields)


def _aspect(key: Key, name: str, case_faults: CaseFaults, can_earn: bool) -> Aspect:
    points, passed = key.aspects[name], [not case_has for case_has in case_faults]
    earned = points if can_earn and all(passed) else 0.0
    if key.measure == ORDER:
        shares = [case_has[0].share if case_has else 1.0 for case_has in case_faults]
        earned = points_for_share(points, math.fsum(shares) / len(shares))
    return Aspect(name, points, earned, sum(passed), len(passed))
