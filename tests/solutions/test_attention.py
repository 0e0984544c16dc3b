"""Chapter 1: the solutions agree with PyTorch and have the properties that the chapter states."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from solutions.attention import (
    attention,
    attention_weights,
    copies_predecessor,
    repaired_attention,
    softmax,
)
from solutions.self_attention import self_attention
from tests.solutions.conftest import TOLERANCE, relative_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.solutions

ordinary = st.floats(-1e3, 1e3)
matrices = arrays.arrays(np.float64, arrays.array_shapes(min_dims=1, max_dims=4, max_side=5), elements=ordinary)


@pytest.fixture
def roles(rng, batch, sizes, dtype):
    return (
        rng.normal(size=(*batch, sizes.T_query, sizes.d_key)).astype(dtype),
        rng.normal(size=(*batch, sizes.T_key, sizes.d_key)).astype(dtype),
        rng.normal(size=(*batch, sizes.T_key, sizes.d_value)).astype(dtype),
    )


def assert_matches(actual, expected, dtype):
    assert actual.dtype == dtype
    assert relative_error(actual, expected) < TOLERANCE[dtype]


def test_softmax_matches_pytorch(rng, batch, dtype):
    scores = (5 * rng.normal(size=(*batch, 4, 7))).astype(dtype)
    assert_matches(softmax(scores), torch.softmax(torch.from_numpy(scores), dim=-1), dtype)


def test_softmax_of_one_row_and_of_one_score():
    assert relative_error(softmax(np.array([1.0, 2.0, 3.0])), np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum()) < 1e-15
    assert np.array_equal(softmax(np.array([[7.0], [-7.0]])), np.ones((2, 1)))


@given(matrices)
def test_every_row_of_weights_adds_up_to_one(scores):
    weights = softmax(scores)
    assert weights.shape == scores.shape
    assert (weights >= 0).all()
    assert np.allclose(weights.sum(axis=-1), 1, rtol=1e-14)


@given(matrices, ordinary)
def test_softmax_does_not_change_under_a_shift(scores, shift):
    assert np.allclose(softmax(scores + shift), softmax(scores), rtol=1e-9, atol=1e-15)


@given(arrays.arrays(np.float64, (3, 4), elements=st.floats(-1e300, 1e300)))
def test_softmax_is_finite_for_scores_of_any_size(scores):
    assert np.isfinite(softmax(scores)).all()


def test_softmax_does_not_change_its_argument():
    scores = np.array([1.0, 2.0])
    softmax(scores)
    assert np.array_equal(scores, [1.0, 2.0])


def test_attention_weights_match_pytorch(roles, dtype, sizes):
    queries, keys, _ = roles
    scores = torch.from_numpy(queries) @ torch.from_numpy(keys).transpose(-1, -2) / math.sqrt(sizes.d_key)
    assert_matches(attention_weights(queries, keys), torch.softmax(scores, dim=-1), dtype)


def test_attention_matches_pytorch(roles, dtype):
    output, _ = attention(*roles)
    expected = torch.nn.functional.scaled_dot_product_attention(*map(torch.from_numpy, roles))
    assert_matches(output, expected, dtype)
    assert_matches(repaired_attention(*roles), expected, dtype)


def test_attention_keeps_what_the_backward_pass_needs(roles):
    _, (queries, keys, values, weights) = attention(*roles)
    assert all(kept is given for kept, given in zip((queries, keys, values), roles, strict=True))
    assert np.array_equal(weights, attention_weights(queries, keys))


def test_self_attention_matches_pytorch(rng, batch, sizes, dtype):
    x = rng.normal(size=(*batch, sizes.T, sizes.d_model)).astype(dtype)
    shapes = [(sizes.d_model, width) for width in (sizes.d_key, sizes.d_key, sizes.d_value)]
    projections = [rng.normal(size=shape).astype(dtype) / math.sqrt(sizes.d_model) for shape in shapes]
    output, cache = self_attention(x, *projections)
    roles = [torch.nn.functional.linear(torch.from_numpy(x), torch.from_numpy(w).T) for w in projections]
    assert_matches(output, torch.nn.functional.scaled_dot_product_attention(*roles), dtype)
    assert all(kept is given for kept, given in zip(cache[:4], (x, *projections), strict=True))


@pytest.mark.parametrize("function", [attention, repaired_attention])
def test_attention_is_finite_on_large_scores(function, rng):
    queries, keys = 1e3 * rng.normal(size=(2, 4, 5)), 1e3 * rng.normal(size=(2, 7, 5))
    output = function(queries, keys, rng.normal(size=(2, 7, 3)))
    assert np.isfinite(output[0] if function is attention else output).all()


@given(st.permutations(range(5)), st.integers(0, 1000))
@settings(max_examples=30)
def test_self_attention_is_permutation_equivariant(order, seed):
    rng = np.random.default_rng(seed)
    x, projections = rng.normal(size=(5, 4)), [rng.normal(size=(4, 3)) for _ in range(3)]
    output, _ = self_attention(x, *projections)
    reordered, _ = self_attention(x[order], *projections)
    assert relative_error(reordered, output[order]) < 1e-12


@given(st.integers(0, 1000))
@settings(max_examples=30)
def test_an_output_row_is_between_the_smallest_and_the_largest_values(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(7, 3))
    output, _ = attention(3 * rng.normal(size=(4, 5)), rng.normal(size=(7, 5)), values)
    assert (output <= values.max(axis=0) + 1e-12).all()
    assert (output >= values.min(axis=0) - 1e-12).all()


def test_queries_and_keys_must_share_their_width(rng):
    with pytest.raises(ValueError, match="d_key = 3.*d_key = 5"):
        attention_weights(rng.normal(size=(4, 3)), rng.normal(size=(7, 5)))
    with pytest.raises(ValueError, match="d_key"):
        attention_weights(np.ones((4, 1)), np.ones((7, 5)))


@given(st.integers(1, 12), st.integers(2, 80), st.integers(0, 10))
def test_each_word_copies_its_predecessor(n_words, length, seed):
    words = np.random.default_rng(seed).integers(n_words, size=(3, length))
    for x in (np.concatenate([np.eye(n_words)[w], np.eye(length)], axis=1) for w in words):
        output, (*_, (_, _, _, weights)) = self_attention(x, *copies_predecessor(n_words, length))
        assert (np.diagonal(weights, offset=-1) > 0.99).all()
        assert (output[1:].argmax(axis=-1) == x[:-1, :n_words].argmax(axis=-1)).all()
