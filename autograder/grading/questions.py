"""One submission's outcomes, held against cases that are its own. What explains them is made where something is wrong.

Asking every known mistake takes ten times as long as asking the reference, and a right answer has no use for it.
"""

from collections.abc import Mapping, Sequence

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.authoring.make_key import explaining, make_questions
from check import judge
from check.calling import Outcome
from check.judge import Result
from check.key import Key


def questions_of(chapter: str, seeds: Mapping[str, int]) -> dict[str, Key]:
    """Exercise -> what it is asked, and what is right, in the order of the seeds."""
    exercises = exercises_by_name(chapter)
    return {name: make_questions(exercises[name], seed) for name, seed in seeds.items()}


def exercises_by_name(chapter: str) -> dict[str, Exercise]:
    """Name -> exercise, of one chapter."""
    return {each.name: each for each in exercises_of(chapter)}


def judged(exercise: Exercise, questions: Key, outcomes: Sequence[Outcome]) -> Result:
    """The result of an exercise, and what known mistake or slip explains it, if it is wrong."""
    result = judge.grade(questions, outcomes)
    if result.passed or not any(map(_tells, outcomes)):
        return result
    return judge.grade(explaining(exercise, questions), outcomes)


def _tells(outcome):
    """Whether an outcome tells anything of a mistake: neither stopped nor a stub."""
    return not outcome.stopped and not (outcome.raised and outcome.raised.type == "NotImplementedError")
