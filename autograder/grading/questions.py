"""Make the questions of one submission and judge its outcomes.

Running every known mistake takes ten times as long as running the reference. So mistakes are run only for an exercise
that is wrong, and only if its explanation is read: a second run often replaces it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.authoring.make_key import make_lazy_key, with_slips_like
from autograder.grading.freed_memory import keep_freed_memory
from autograder.sandbox import Call
from check import scoring
from check.calling import Outcome
from check.causes import explain
from check.faults import CaseFaults, of_cases
from check.key import Key, Mistake
from check.measuring import measured_outcomes
from check.scoring import Result
from check.verdicts_of_test import with_rejections

keep_freed_memory()


def questions_of(chapter: str, seeds: Mapping[str, int]) -> dict[str, Key]:
    """Return exercise -> its cases with the expected outcomes, in the order of the seeds. Weights have no cases."""
    exercises = exercises_by_name(chapter)
    return {name: make_lazy_key(exercises[name], seed) for name, seed in seeds.items() if name in exercises}


@cache  # finding them means to read the chapter's text
def exercises_by_name(chapter: str) -> Mapping[str, Exercise]:
    """Return the exercises of a chapter by name."""
    return {exercise.name: exercise for exercise in exercises_of(chapter)}


def calls_of(chapter: str, keys: Mapping[str, Key]) -> list[Call]:
    """Return one call for each case. keys: exercise -> its cases.

    A test that the student wrote starts each aspect anew. It would otherwise learn the right function by counting,
    since that is the only one that every aspect has.
    """
    exercises = exercises_by_name(chapter)
    return [
        Call(name, case.inputs, exercises[name].likely, case.aspect if key.tests else "")
        for name, key in keys.items()
        for case in key.cases
    ]


@dataclass(frozen=True)
class Judgement:
    """What an exercise earns, and on request why.

    key: of the exercise. outcomes: one for each case, as the judge compares them. case_faults: what is wrong with each.
    """

    key: Key
    outcomes: Sequence[Outcome]
    case_faults: CaseFaults

    @property
    def passed(self) -> bool:
        return not any(self.case_faults)

    @cached_property
    def earned(self) -> float:
        return sum(aspect.earned for aspect in scoring.aspects_of(self.key, self.case_faults))

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        return self.result.mistakes

    @cached_property
    def result(self) -> Result:
        """The result; if it is wrong, with the known mistakes or the slip that explain it."""
        return explained(self)


def judge_exercise(key: Key, outcomes: Sequence[Outcome]) -> Judgement:
    """Judge an exercise. key: from `questions_of`. outcomes: of the calls, not measured."""
    outcomes = with_rejections(key, measured_outcomes(key, outcomes))
    return Judgement(key, outcomes, of_cases(key, outcomes))


def explained(judgement: Judgement) -> Result:
    """Return the result of an exercise. Only outcomes that can show a mistake are compared with the known ones."""
    key, outcomes, case_faults = judgement.key, judgement.outcomes, judgement.case_faults
    informative = any(map(_is_informative, outcomes))
    key = with_slips_like(key, outcomes) if informative else replace(key, mistakes={}, slips={})
    return scoring.result_of(key, case_faults, explain(key, outcomes, case_faults))


def _is_informative(outcome: Outcome) -> bool:
    """Return whether an outcome can show a mistake: it was not stopped, and does not come from a stub."""
    return not outcome.stopped and not (outcome.raised and outcome.raised.type == "NotImplementedError")
