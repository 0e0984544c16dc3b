"""Make the questions of one submission and judge its outcomes.

Running every known mistake takes ten times as long as running the reference. So mistakes are run only for an exercise
that is wrong.
"""

from collections.abc import Mapping, Sequence

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.authoring.make_key import make_questions, with_mistakes_and_slips
from check import judge
from check.calling import Outcome
from check.judge import Result
from check.key import Key
from check.measuring import measured_outcomes


def questions_of(chapter: str, seeds: Mapping[str, int]) -> dict[str, Key]:
    """Return exercise -> its cases with the expected outcomes, in the order of the seeds. Weights have no cases."""
    exercises = exercises_by_name(chapter)
    return {name: make_questions(exercises[name], seed) for name, seed in seeds.items() if name in exercises}


def exercises_by_name(chapter: str) -> dict[str, Exercise]:
    """Return the exercises of a chapter by name."""
    return {exercise.name: exercise for exercise in exercises_of(chapter)}


def judge_exercise(exercise: Exercise, questions: Key, outcomes: Sequence[Outcome]) -> Result:
    """Return the result of an exercise; if it is wrong, with the known mistakes or the slip that explain it.

    outcomes: of the calls, not measured.
    """
    outcomes = measured_outcomes(questions, outcomes)
    result = judge.grade(questions, outcomes)
    if result.passed or not any(map(_is_informative, outcomes)):
        return result
    return judge.grade(with_mistakes_and_slips(exercise, questions), outcomes)


def _is_informative(outcome: Outcome) -> bool:
    """Return whether an outcome can show a mistake: it was not stopped, and does not come from a stub."""
    return not outcome.stopped and not (outcome.raised and outcome.raised.type == "NotImplementedError")
