"""The public key, which every student has, answers no case of a secret key, in any chapter."""

import json

import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.house import chapter_names
from check import given_functions, judge
from check.calling import Outcome, run
from check.values import pack
from tests.choosing import thinned
from tests.conftest import CHAPTER

pytestmark = pytest.mark.attacks


def written(inputs):
    tree, arrays = pack(inputs)
    return json.dumps(tree), *((array.dtype.name, array.shape, array.tobytes()) for array in arrays)


@pytest.mark.parametrize("chapter", thinned(chapter_names(), [CHAPTER], "the same for every chapter"))
def test_looking_up_inputs_earns_nothing(chapter):
    for exercise in exercises_of(chapter):
        known = {written(case.inputs): case.expected for case in make_key(exercise, PUBLIC_SEED).cases}
        secret = make_key(exercise, 2**100)
        answers = [known.get(written(case.inputs), Outcome()) for case in secret.cases]
        assert judge.grade(secret, answers).earned == 0, exercise.name


def test_a_table_of_decoders_earns_nothing():
    leaky = {function.__name__ for function in given_functions.LEAKY}
    leaks = next(exercise for exercise in exercises_of("03_masking") if exercise.name == "leaks")
    secret = make_key(leaks, 2**100)

    def looked_up(decoder, x, other):
        return getattr(decoder, "__name__", "") in leaky and len(x) > 1

    answers = [run(looked_up, case.inputs) for case in secret.cases]
    assert judge.grade(secret, answers).earned == 0
