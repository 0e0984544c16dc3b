"""The functions on which the grader tries a student's test come in an order that gives none of them away."""

from collections import Counter

import numpy as np
import pytest

from autograder.authoring.exercise import Draw, Exercise, exercises_of, find_exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.authoring.make_key import make_questions
from autograder.exercises.position.tests_embed_backward import a_little_too_large
from autograder.layout import chapter_names
from check.calling import run
from solutions.position import embed_backward

RIGHT = (REFERENCE, "with_var", "by_einsum")
WRONG = ("not_centred", "without_gain", "bias_first", "unbiased")
TESTS = [e for chapter in chapter_names() for e in exercises_of(chapter) if e.tests]


def names(seed):
    cases = functions_to_test(Draw(seed), find_exercise("layer_norm"), right=RIGHT, wrong=WRONG, at_home=())
    return [name for name, _ in cases]


def test_the_first_function_is_right_as_often_as_it_is_any_wrong_one():
    """With three right functions among seven, a random order would often begin with a right one."""
    drawn = (names(seed)[0] for seed in range(500))
    first = Counter("right" if name.startswith("a right") else name for name in drawn)
    assert len(first) == 1 + len(WRONG)
    assert all(60 < count < 140 for count in first.values()), first


def test_every_function_comes_once_in_an_order_of_each_key():
    orders = [names(seed) for seed in range(9)]
    assert {frozenset(order) for order in orders} == {frozenset(orders[0])} and len(set(map(tuple, orders))) == 9
    assert len(orders[0]) == len(set(orders[0])) == len(RIGHT) + len(WRONG)


def test_further_right_functions_come_after_all_wrong_ones():
    """Before that, no function comes again, so a test cannot recognise the right values by their number."""
    for seed in range(9):
        assert [name.startswith("a right") for name in names(seed)[-2:]] == [True, True]


@pytest.mark.parametrize("exercise", TESTS, ids=lambda e: e.name)
def test_all_aspects_begin_with_the_same_right_function(exercise):
    """A test that rejects it, because it has seen nothing yet, rejects it in all aspects."""
    for seed in range(3):
        first = {}
        for case in make_questions(exercise, seed).cases:
            if case.expected.value:
                first.setdefault(case.aspect, case.inputs["function"])
        assert first.keys() == exercise.aspects.keys() and len(set(first.values())) == 1


def test_a_test_with_another_parameter_is_refused_with_what_to_write():
    def tests_layer_norm(layer, rng):
        """A test."""

    with pytest.raises(ValueError, match=r"write `def tests_layer_norm\(function\):` instead of \(layer, rng\)"):
        Exercise(tests_layer_norm, outputs={"verdict": ""}, section="", tests=find_exercise("layer_norm"))


def in_whole_numbers(array):
    return np.rint(3 * array).astype(int) if array.dtype.kind == "f" else array


def as_a_list(array):
    return array.tolist() if array.ndim == 1 else array


def as_a_tuple(array):
    return tuple(array.tolist()) if array.ndim == 1 else array


def in_half_precision(value):
    return value.astype(np.float16) if isinstance(value, np.ndarray) else value


def without_rows(value):
    if isinstance(value, np.ndarray) and value.ndim > 1:
        return value[..., :0, :]
    return (value[0][..., :0], *value[1:]) if isinstance(value, tuple) else value


@pytest.mark.parametrize("form", [in_half_precision, without_rows])
@pytest.mark.parametrize("exercise", [e for e in TESTS if "dtype" in e.reference.__doc__], ids=lambda e: e.name)
def test_right_functions_keep_the_dtype_in_half_precision_and_for_no_rows(exercise, form):
    right = {case.name: case.inputs["function"] for case in make_questions(exercise, 1).cases if case.expected.value}
    for case in make_questions(exercise.tests, 1).cases:
        inputs = {name: form(value) for name, value in case.inputs.items()}
        expected = run(exercise.tests.reference, inputs)
        for words, function in right.items() if not expected.raised else ():
            outcome = run(function, inputs)
            assert not outcome.raised, (words, case.name, outcome.raised)
            value, like = (v[0] if isinstance(v, tuple) else v for v in (outcome.value, expected.value))
            assert (value.shape, value.dtype) == (like.shape, like.dtype), (words, case.name)


@pytest.mark.parametrize("form", [in_whole_numbers, as_a_list, as_a_tuple])
@pytest.mark.parametrize("exercise", TESTS, ids=lambda e: e.name)
def test_right_functions_take_what_the_reference_takes(exercise, form):
    """A test may write numbers without a point, or in parentheses, if the student's own function takes them."""
    right = {case.name: case.inputs["function"] for case in make_questions(exercise, 1).cases if case.expected.value}
    taken = 0
    for case in make_questions(exercise.tests, 1).cases:
        for name in (name for name, value in case.inputs.items() if isinstance(value, np.ndarray)):
            inputs = case.inputs | {name: form(case.inputs[name])}
            expected = run(exercise.tests.reference, inputs)
            if expected.raised:
                continue
            taken += 1
            for words, function in right.items():
                outcome = run(function, inputs)
                assert not outcome.raised, (words, name, outcome.raised)
                if exercise.name in ("tests_layer_norm", "tests_embed_backward"):
                    value, *_ = outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)
                    like, *_ = expected.value if isinstance(expected.value, tuple) else (expected.value,)
                    np.testing.assert_allclose(value, like, rtol=1e-9, atol=1e-4, err_msg=f"{words}, {name}")
    assert taken


def test_two_per_cent_too_large_is_wrong_for_whole_numbers_too():
    """1.02 as a whole number is 1."""
    grad_output, cache = np.arange(12).reshape(3, 4), (np.array([0, 2, 2]), 4)
    assert not np.allclose(a_little_too_large(grad_output, cache), embed_backward(grad_output, cache))
