"""The judge: holds what a function came to against an answer key, and says what is wrong first.

It runs in the student's notebook with the public key, and in the grading process with the secret one.
It sees outcomes, never the function.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from check.calling import Outcome
from check.explain import Explanation, explain
from check.faults import Verdict, faults
from check.key import Case, Key, Mistake


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
    mistakes: the known misconceptions that explain the answers, the one that explains most first.
    remarks: what else is wrong, a sentence for each kind of fault that no mistake explains.
    section: title of the section to read again.
    mend_first: exercises that this one calls and that are wrong themselves.
    answered: exercises that this one calls and that were answered in the student's place, being wrong themselves.
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

    @property
    def mistake(self) -> Mistake | None:
        """The known misconception that explains most of the answers, or None."""
        return next(iter(self.mistakes), None)

    @property
    def passed(self) -> bool:
        return self.verdict is None

    @property
    def blank(self) -> bool:
        """Whether nobody has written any of it yet."""
        nothing = not any(aspect.passed for aspect in self.aspects)
        return self.verdict is not None and self.verdict.kind == "blank" and nothing

    def to_json(self) -> dict[str, Any]:
        """The result as a JSON-serialisable dict."""
        return asdict(self)

    @staticmethod
    def from_json(fields: dict[str, Any]) -> "Result":
        """The result that `to_json` wrote; earlier it named one mistake at most, and nothing was answered."""
        before = [fields["mistake"]] if fields.get("mistake") else []
        added = {"mistakes": before, "remarks": (), "answered": ()}
        fields = added | {name: fields[name] for name in fields if name != "mistake"}
        return Result(
            **fields
            | {
                "aspects": tuple(Aspect(**aspect) for aspect in fields["aspects"]),
                "verdict": Verdict(**fields["verdict"]) if fields["verdict"] else None,
                "mistakes": tuple(Mistake(**mistake) for mistake in fields["mistakes"]),
                "mend_first": tuple(fields["mend_first"]),
                "remarks": tuple(fields["remarks"]),
                "answered": tuple(fields["answered"]),
            }
        )


def judge(key: Key, case: Case, outcome: Outcome) -> Verdict:
    """Hold one outcome against one case."""
    return next(faults(key, case.expected, outcome), Verdict(True))


def grade(key: Key, outcomes: Sequence[Outcome]) -> Result:
    """Judge a whole exercise.

    Args:
        key: its answer key.
        outcomes: one for each case of the key, in the key's order.

    Returns:
        Result. Points are earned aspect by aspect; none are, when no case that asks for a value passes
        (a function that only ever raises would otherwise earn the points for raising).
    """
    return result_of(key, outcomes, explain(key, outcomes))


def result_of(key: Key, outcomes: Sequence[Outcome], why: Explanation | None) -> Result:
    """The result of an exercise, by what explains its outcomes."""
    aspects = aspects_of(key, outcomes)
    shown = judge(key, key.cases[why.shown], outcomes[why.shown]) if why else None
    remarks = why.remarks if why else ()
    if why and shown and why.relation:
        if shown.kind == "value":
            shown = replace(shown, message=f"{shown.message} {why.relation}")
        else:
            remarks = (*remarks, f"{why.relation} Seen where values are wrong.")
    return Result(
        function=key.function,
        earned=sum(aspect.earned for aspect in aspects),
        points=key.points,
        aspects=aspects,
        verdict=shown,
        case=key.cases[why.shown].name if why else "",
        mistakes=tuple(key.mistakes[slug] for slug in why.mistakes) if why else (),
        section=key.section,
        remarks=remarks,
    )


def aspects_of(key: Key, outcomes: Sequence[Outcome]) -> tuple[Aspect, ...]:
    """What an exercise earns, aspect by aspect."""
    verdicts = [judge(key, case, outcome) for case, outcome in zip(key.cases, outcomes, strict=True)]
    valued = [v.passed for v, case in zip(verdicts, key.cases, strict=True) if case.expected.raised is None]
    return tuple(_aspect(key, name, verdicts, earns=any(valued)) for name in key.aspects)


def blame_what_is_used(result: Result, key: Key, failing: set[str]) -> Result:
    """The result, saying which of the exercises that this one calls are wrong themselves.

    failing: names of the exercises of the same notebook that do not pass.
    """
    return result if result.passed else replace(result, mend_first=tuple(name for name in key.uses if name in failing))


def _aspect(key: Key, name: str, verdicts: Sequence[Verdict], earns: bool) -> Aspect:
    passed = [v.passed for v, case in zip(verdicts, key.cases, strict=True) if case.aspect == name]
    earned = key.aspects[name] if earns and all(passed) else 0.0
    return Aspect(name, key.aspects[name], earned, sum(passed), len(passed))
