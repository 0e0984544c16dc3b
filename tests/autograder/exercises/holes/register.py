"""The list of holes, and whether a key accepts an answer."""

import copy
from collections.abc import Callable
from functools import cache

import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import make_key
from autograder.layout import chapter_names
from check.calling import run
from check.scoring import judge

EVERY = {exercise.name: exercise for chapter in chapter_names() for exercise in exercises_of(chapter)}
SECRET = (20_260_101, 7)
MANY = tuple(range(18))  # for wrong answers that only some keys accepted
SOME = MANY[:6]  # if making a key takes a second
HOLES: list = []


def hole(exercise: str, seeds=SECRET, name=""):
    """Decorate a wrong answer that the public key, or a secret one of these seeds, accepted."""

    def register(wrong: Callable) -> Callable:
        HOLES.append(pytest.param(exercise, wrong, seeds, id=f"{exercise}-{name or wrong.__name__}"))
        return wrong

    return register


@cache
def key_of(exercise: str, seed: int):
    """The key without its known mistakes, which take most of the time that a key takes."""
    bare = copy.copy(EVERY[exercise])
    bare.mistakes = {}
    return make_key(bare, seed)


def accepted(exercise: str, function: Callable, seed: int) -> bool:
    """Whether a function passes every case of the key of that seed."""
    key = key_of(exercise, seed)
    return all(judge(key, case, run(function, case.inputs)).passed for case in key.cases)
