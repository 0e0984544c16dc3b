"""Explanations are true: wrong answers of real exercises get no sentence that does not hold for them."""

import numpy as np
import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import public_key
from check.calling import run
from check.judge import grade

pytestmark = pytest.mark.autograder


def result_of(exercise, function):
    """Return the result of a function for the public key of an exercise."""
    key = public_key(find_exercise(exercise))
    return grade(key, [run(function, case.inputs) for case in key.cases])


def names_of(result):
    return [mistake.name for mistake in result.mistakes]


# ------------------------------------------------------------------------------------------- shapes and dtypes


def test_only_a_transpose_is_called_the_transpose():
    def stacked(heads):
        *batch, n_heads, length, d_head = heads.shape
        return heads.reshape(*batch, n_heads * length, d_head)

    message = result_of("merge_heads", stacked).verdict.message
    assert "(9, 3)" in message and "The lengths of the last two axes are exchanged." in message
    assert "transpose" not in message


@pytest.mark.parametrize("wrong", [np.triu, np.zeros_like, lambda tri: 2 * tri])
def test_a_mask_of_numbers_is_a_right_triangle_only_if_its_entries_are_right(wrong):
    result = result_of("causal_mask", lambda length: wrong(np.tri(length)))
    assert "has dtype float64 where bool is expected" in result.verdict.message
    assert names_of(result) == []
