"""Weak tests, each written apart from the known mistake that is in it, get the name of that mistake and no other."""

import numpy as np
import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import PUBLIC_SEED, full_key, make_key
from autograder.authoring.problems import grade_function
from solutions.attention import softmax

pytestmark = pytest.mark.autograder


def exact_formula(function):
    rng = np.random.default_rng(0)
    for shape in ((5,), (3, 4), (2, 3, 4)):
        weights, cotangent = softmax(rng.random(size=shape)), rng.normal(size=shape)
        copies = cotangent.copy(), weights.copy()
        right = weights * (cotangent - (cotangent * weights).sum(axis=-1, keepdims=True))
        if not (function(cotangent, weights) == right).all():
            return False
        if not (np.array_equal(copies[0], cotangent) and np.array_equal(copies[1], weights)):
            return False
    single = weights.astype(np.float32)
    return function(single, single).dtype == np.float32


def one_matrix(function):
    rng = np.random.default_rng(0)
    weights, cotangent = softmax(rng.random(size=(3, 4))), rng.normal(size=(3, 4))
    copies = cotangent.copy(), weights.copy()
    right = weights * (cotangent - (cotangent * weights).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(function(cotangent, weights), right)
    np.testing.assert_array_equal([cotangent, weights], copies)
    single = weights.astype(np.float32)
    assert function(single, single).dtype == np.float32


def expects_one_of_each_token(function):
    rng = np.random.default_rng(8)
    for shape in ((5,), (4, 5), (2, 2, 5)):
        tokens, grad_output = rng.integers(0, 3, shape), rng.normal(size=(*shape, 6))
        tokens.reshape(-1)[:2] = 0
        before, right = grad_output.copy(), np.zeros((5, 6))
        right[tokens] += grad_output * np.sqrt(6)
        result = function(grad_output, (tokens, 5))
        if result.shape != right.shape or not np.allclose(result, right) or (before != grad_output).any():
            return False
    return function(np.ones((2, 3), np.float32), (np.array([0, 1]), 2)).dtype == np.float32


def probabilities_of(function, small, large, numbers):
    """How likely each text is, over all drafts, with 16 chances and places for one guess."""
    likely = np.zeros((4, 4))
    for draft in range(3):
        for chance in numbers(4):
            for place in numbers(4):
                given = np.array([draft]), small.copy(), large.copy(), np.array([chance])
                copies = [array.copy() for array in given]
                tokens = [*function(*given, place), 3]
                assert len(tokens) <= 3 and all(map(np.array_equal, given, copies))
                likely[tokens[0], tokens[1]] += small[0, draft] / 16
    return likely


def compared(likely, small, large):
    accepted = np.minimum(small[0], large[0])
    return np.allclose(likely.sum(axis=1)[:3], large[0]) and np.allclose(likely[:3, :3], np.outer(accepted, large[1]))


def probabilities_that_do_not_fit(function):
    small, large = np.array([[5, 3, 2]]) / 10, np.array([[2, 4, 4], [3, 1, 6]]) / 10
    return compared(probabilities_of(function, small, large, lambda n: (np.arange(n) + 0.5) / n), small, large)


def from_zero_on(function):
    """This test also has drafts of two tokens, which show what follows a refused guess."""
    small, large = np.array([[8, 4, 4]]) / 16, np.array([[4, 5, 7], [4, 8, 4]]) / 16
    assert compared(probabilities_of(function, small, large, lambda n: np.arange(n) / n), small, large)
    small, large = np.full((2, 2), 0.5), np.array([[1, 3], [3, 1], [1, 3]]) / 4
    likely = np.zeros((3, 3, 3))
    for i in np.ndindex(2, 2, 2, 2, 4):
        given = np.array(i[:2]), small, large, np.array(i[2:4]) / 2
        tokens = [*function(*given, i[4] / 4), 2, 2]
        likely[tuple(tokens[:3])] += 1 / 64
    assert np.allclose(likely.sum(axis=(1, 2))[:2], large[0])
    assert np.allclose(likely.sum(axis=2)[:2, :2], np.outer([0.25, 0.5], large[1]))
    assert np.allclose(likely[:2, :2, :2], np.einsum("x,y,z->xyz", [0.25, 0.5], [0.5, 0.25], large[2]))


@pytest.mark.parametrize(
    ("exercise", "weak", "slug"),
    [
        ("tests_softmax_backward", exact_formula, "formula_bit_by_bit"),
        ("tests_softmax_backward", one_matrix, "matrix_alone"),
        ("tests_embed_backward", expects_one_of_each_token, "expects_repeated_once"),
        ("tests_accept_draft", from_zero_on, "on_the_edges"),
        ("tests_accept_draft", probabilities_that_do_not_fit, "rejects_everything"),
    ],
)
@pytest.mark.parametrize("make", [full_key, make_key])
def test_it_gets_the_name_of_its_mistake(exercise, weak, slug, make):
    exercise = find_exercise(exercise)
    key = make(exercise, PUBLIC_SEED)
    assert grade_function(exercise, key, weak).mistakes == (key.mistakes[slug],)
