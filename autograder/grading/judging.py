"""Make the questions for one submission, and judge its outcomes.

Running every known mistake takes ten times as long as running the reference. So we run mistakes only for wrong
exercises, and only when the explanation is needed, because a second run often replaces it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.authoring.make_key import make_lazy_key, narrowed_to
from autograder.sandbox import Call
from check import scoring
from check.calling import Outcome
from check.causes import explain
from check.faults import CaseFaults
from check.key import Key, Mistake
from check.measuring import measured_outcomes
from check.scoring import Result
from check.verdicts_of_test import with_rejections

# glibc keeps twice as much freed memory as the largest array that it has given back to the kernel, unless that had more
# than 32 MB. Getting memory from the kernel again takes longer than most of our computations.
np.zeros(31 << 20, np.uint8)


def questions_of(chapter: str, seeds: Mapping[str, int]) -> dict[str, Key]:
    """Return exercise -> its cases with the expected outcomes, in the order of the seeds. Weights have no cases."""
    exercises = exercises_by_name(chapter)
    return {name: make_lazy_key(exercises[name], seed) for name, seed in seeds.items() if name in exercises}


@cache  # finding them requires reading the chapter's text
def exercises_by_name(chapter: str) -> Mapping[str, Exercise]:
    """Return the exercises of a chapter by name."""
    return {exercise.name: exercise for exercise in exercises_of(chapter)}


def calls_of(chapter: str, keys: Mapping[str, Key]) -> list[Call]:
    """Return one call for each case. keys: exercise -> its cases.

    Each aspect of a test that a student writes runs in a new process, so that the test cannot remember the right values
    from another aspect.
    """
    exercises = exercises_by_name(chapter)
    return [
        Call(name, case.inputs, exercises[name].likely, case.aspect if key.tests else "")
        for name, key in keys.items()
        for case in key.cases
    ]


@dataclass(frozen=True)
class Judgement:
    """The points of an exercise and, on request, the explanation.

    outcomes: one for each case, as the judge compares them. case_faults: what is wrong with each outcome.
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
        """The result. A wrong result has the known mistakes, or the slip, that explain it."""
        informative = any(map(_is_informative, self.outcomes))
        key = (
            narrowed_to(self.key, self.outcomes)
            if informative
            else replace(self.key, mistakes={}, inherited={}, slips={})
        )
        return scoring.result_of(key, self.case_faults, explain(key, self.outcomes, self.case_faults))


def judge_exercise(key: Key, outcomes: Sequence[Outcome]) -> Judgement:
    """Judge an exercise. key: from `questions_of`. outcomes: the outcomes of the calls, not measured yet."""
    outcomes = with_rejections(key, measured_outcomes(key, outcomes))
    return Judgement(key, outcomes, scoring.faults_of_cases(key, outcomes))


def _is_informative(outcome: Outcome) -> bool:
    """Return whether an outcome can show a mistake: it was not stopped and does not come from a stub."""
    return not outcome.stopped and not (outcome.raised and outcome.raised.type == "NotImplementedError")
