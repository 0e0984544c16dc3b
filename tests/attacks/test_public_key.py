"""The public key, which every student has, answers no case of a secret key, in any chapter."""

import json

import numpy as np
import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.layout import chapter_names
from check import input_functions, scoring
from check.calling import Outcome
from check.measuring import measured_outcomes, outcomes_of
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
        assert scoring.grade(secret, measured_outcomes(secret, answers)).earned == 0, exercise.name


def earned(chapter, name, function):
    exercise = next(exercise for exercise in exercises_of(chapter) if exercise.name == name)
    secret = make_key(exercise, 2**100)
    return scoring.grade(secret, outcomes_of(function, secret)).earned


def test_a_table_of_decoders_earns_nothing():
    leaky = {function.__name__ for function in input_functions.LEAKY}

    def leaks(decoder, *sequences, **named):
        if hasattr(decoder, "weights"):
            return bool(np.triu(decoder.weights, 1).any())
        return getattr(decoder, "__name__", "") in leaky

    assert earned("03_masking", "leaks", leaks) == 0


def test_a_table_of_slopes_earns_nothing():
    slopes = {
        "sum_of_squares": lambda x: 2 * x,
        "weighted_sines": lambda x: np.arange(1, x.size + 1).reshape(x.shape) * np.cos(x),
        "sum_of_cubes": lambda x: 3 * x**2 + 1e-10,
        "log_sum_exp": lambda x: np.exp(x) / np.exp(x).sum(),
    }

    def by_name(f, x, h=1e-5):
        return slopes.get(f.__name__, np.zeros_like)(x)

    def by_value(f, x, h=1e-5):
        with np.errstate(all="ignore"):
            known = (slope for name, slope in slopes.items() if np.isclose(f(x), input_functions.by_name(name)(x)))
        return next(known, np.zeros_like)(x)

    for numerical_gradient in (by_name, by_value):
        assert earned("02_backward", "numerical_gradient", numerical_gradient) == 0
