"""Chapter 3: masks agree with the figures, masked attention agrees with PyTorch, and only real leaks are found."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from solutions.attention import attention, softmax
from solutions.backward import attention_backward
from solutions.masked_attention import masked_attention
from solutions.masking import (
    causal_mask,
    leaks,
    masked_softmax,
    padding_mask,
    streaming_attention,
    streaming_attention_backward,
    target_mask,
)
from tests.solutions.comparing import (
    assert_close,
    assert_gradients_measured,
    assert_same_as_torch,
    leading_axes,
    random_arrays,
)

pytestmark = pytest.mark.solutions
PAD = 0
YES, NO = True, False


def test_the_causal_mask_is_a_lower_triangle_with_its_diagonal():
    expected = [[YES, NO, NO], [YES, YES, NO], [YES, YES, YES]]
    assert causal_mask(3).dtype == bool
    assert np.array_equal(causal_mask(3), expected)
    assert np.array_equal(causal_mask(1), [[YES]])
    assert causal_mask(0).shape == (0, 0)


def test_the_padding_mask_hides_keys():
    tokens = np.array([[5, 6, PAD], [7, PAD, PAD]])
    assert np.array_equal(padding_mask(tokens, PAD), [[[YES, YES, NO]], [[YES, NO, NO]]])
    assert np.array_equal(padding_mask(tokens[0], PAD), [[YES, YES, NO]])
    assert np.array_equal(padding_mask(tokens, 7), [[[YES, YES, YES]], [[NO, YES, YES]]])


def test_the_target_mask_combines_the_causal_and_the_padding_mask():
    tokens = np.array([[5, 6, 7], [8, PAD, PAD]])
    expected = [causal_mask(3), [[YES, NO, NO], [YES, NO, NO], [YES, NO, NO]]]
    assert np.array_equal(target_mask(tokens, PAD), expected)
    assert target_mask(tokens[np.newaxis], PAD).shape == (1, 2, 3, 3)


def test_masks_broadcast_with_scores_of_several_heads():
    n_batch, n_heads, T_source, T_target = 2, 3, 5, 4
    source, target = np.ones((n_batch, T_source), int), np.ones((n_batch, T_target), int)
    for mask, T_query, T_key in (
        (padding_mask(source, PAD), T_source, T_source),
        (padding_mask(source, PAD), T_target, T_source),
        (target_mask(target, PAD), T_target, T_target),
    ):
        scores = n_batch, n_heads, T_query, T_key
        assert np.broadcast_shapes(mask[:, np.newaxis].shape, scores) == scores


@pytest.fixture
def masks(rng, sizes):
    """Return masks of every kind of shape, each with rows in which every key is hidden."""

    def make(leading):
        full = rng.random((*leading, sizes.T_query, sizes.T_key)) < 0.6
        full[..., 1, :] = False
        shared = rng.random((sizes.T_query, sizes.T_key)) < 0.6
        shared[0] = False
        keys = rng.random((*leading, 1, sizes.T_key)) < 0.6
        keys.reshape(-1, sizes.T_key)[0] = False
        everything = np.ones((1, 1), bool)
        return {"full": full, "shared": shared, "keys": keys, "all": everything, "none": ~everything}

    return make


KINDS = pytest.mark.parametrize("kind", ["full", "shared", "keys", "all", "none"])


def attention_inputs(rng, sizes, leading, dtype=np.float64):
    return random_arrays(
        rng,
        dtype,
        (*leading, sizes.T_query, sizes.d_key),
        (*leading, sizes.T_key, sizes.d_key),
        (*leading, sizes.T_key, sizes.d_value),
    )


def torch_masked_attention(mask):
    """Return PyTorch's attention, with zeros as the output of fully masked rows."""

    def attend(queries, keys, values):
        scores = queries @ keys.mT / keys.shape[-1] ** 0.5
        hidden = ~torch.tensor(mask)
        weights = scores.masked_fill(hidden, -torch.finfo(scores.dtype).max).softmax(-1).masked_fill(hidden, 0)
        output = weights @ values
        built_in = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=~hidden)
        seeing = (~hidden).any(-1, keepdim=True).broadcast_to(output.shape)
        torch.testing.assert_close(output[seeing], built_in[seeing])
        return output

    return attend


@KINDS
@leading_axes
def test_gradients_agree_with_central_differences(rng, sizes, masks, leading, kind):
    mask = masks(leading)[kind]
    assert_gradients_measured(
        lambda *inputs: masked_attention(*inputs, mask),
        attention_backward,
        attention_inputs(rng, sizes, leading),
        rng,
    )


@KINDS
@leading_axes
def test_outputs_and_gradients_agree_with_pytorch(rng, sizes, masks, leading, kind, dtype):
    mask = masks(leading)[kind]
    inputs = attention_inputs(rng, sizes, leading, dtype)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert_same_as_torch(
            lambda *inputs: masked_attention(*inputs, mask),
            attention_backward,
            torch_masked_attention(mask),
            inputs,
            rng,
        )


@leading_axes
def test_a_fully_masked_query_gets_zeros(rng, sizes, masks, leading, dtype):
    mask = masks(leading)["full"]
    output, cache = masked_attention(*attention_inputs(rng, sizes, leading, dtype), mask)
    grad_queries, grad_keys, grad_values = attention_backward(np.ones_like(output), cache)
    assert not output[..., 1, :].any() and not cache[3][..., 1, :].any() and not grad_queries[..., 1, :].any()
    assert all(np.isfinite(gradient).all() for gradient in (grad_queries, grad_keys, grad_values))


def test_a_hidden_key_has_no_effect(rng, sizes, dtype):
    """Output and gradients are those of attention over the visible keys. The hidden key's gradient is exactly zero."""
    queries, keys, values = attention_inputs(rng, sizes, (2,), dtype)
    visible = np.arange(sizes.T_key) != 3
    output, cache = masked_attention(queries, keys, values, visible[np.newaxis])
    expected, expected_cache = attention(queries, keys[:, visible], values[:, visible])
    tolerance = 1e-14 if dtype == np.float64 else 1e-6
    assert_close(output, expected, tolerance)
    cotangent = rng.normal(size=output.shape).astype(dtype)
    grad_queries, grad_keys, grad_values = attention_backward(cotangent, cache)
    assert not grad_keys[:, 3].any() and not grad_values[:, 3].any()
    assert_close(
        (grad_queries, grad_keys[:, visible], grad_values[:, visible]),
        attention_backward(cotangent, expected_cache),
        tolerance,
    )


def test_queries_and_keys_must_have_the_same_width_under_a_mask_too(rng, sizes):
    queries, keys, values = attention_inputs(rng, sizes, (2,))
    with pytest.raises(ValueError, match=f"size {sizes.d_key} is different from {sizes.d_key - 1}"):
        masked_attention(queries[..., 1:], keys, values, np.ones((1, 1), bool))


@pytest.mark.parametrize("size", [1, 1e4, 1e30])
def test_masked_softmax_is_right_for_scores_of_any_size(rng, masks, sizes, size, dtype):
    scores = (size * rng.normal(size=(2, sizes.T_query, sizes.T_key))).astype(dtype)
    for mask in masks((2,)).values():
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            weights = masked_softmax(scores, mask)
        allowed = np.broadcast_to(mask, weights.shape)
        assert weights.dtype == dtype and not weights[~allowed].any()
        assert_close(weights.sum(axis=-1), allowed.any(axis=-1).astype(float), 1e-6)


def test_a_large_hidden_score_does_not_affect_masked_softmax():
    weights = masked_softmax(np.array([1e308, 1.0, 2.0]), np.array([NO, YES, YES]))
    assert_close(weights[1:], softmax(np.array([1.0, 2.0])), 1e-15)


def test_masked_softmax_hides_inf_and_nan():
    """The mask must hide a score of inf or NaN, also in a fully masked row."""
    scores = np.array([[np.nan, 1.0, 2.0], [np.inf, 1.0, 2.0], [-np.inf, 1.0, 2.0]])
    weights = masked_softmax(scores, np.array([NO, YES, YES]))
    assert_close(weights[:, 1:], softmax(scores[:, 1:]), 1e-15)
    with np.errstate(invalid="ignore"):
        assert not masked_softmax(scores, np.array([NO, NO, NO])).any()


def causal_decoder(x):
    return masked_attention(x, x, x, causal_mask(len(x)))[0]


def token_decoder(tokens):
    table = np.random.default_rng(0).normal(size=(20, 4))
    return causal_decoder(table[tokens]) @ table.T


TIGHT = {
    "causal attention": causal_decoder,
    "two layers of it": lambda x: causal_decoder(causal_decoder(x)),
    "each position alone": np.tanh,
    "running sum": lambda x: np.cumsum(x, axis=0),
    "the past only": lambda x: np.cumsum(x, axis=0) - x,
    "a constant": np.zeros_like,
}

LEAKY = {
    "no mask": lambda x: attention(x, x, x)[0],
    "one step ahead": lambda x: masked_attention(x, x, x, np.tri(len(x), k=1, dtype=bool))[0],
    "wrong triangle": lambda x: masked_attention(x, x, x, causal_mask(len(x)).T)[0],
    "masked after the softmax": lambda x: (softmax(x @ x.T) * causal_mask(len(x))) @ x,
    "a small finite penalty": lambda x: softmax(np.where(causal_mask(len(x)), x @ x.T, x @ x.T - 5)) @ x,
    "normalised over time": lambda x: causal_decoder(x - x.mean(axis=0)),
    "the last token, at the first position only": lambda x: x + np.eye(len(x))[0, :, np.newaxis] * x[-1],
    "the second token, at the first position only": lambda x: x + np.eye(len(x))[0, :, np.newaxis] * x[1],
    "the last token, at the last but one only": lambda x: x + np.eye(len(x))[-2, :, np.newaxis] * x[-1],
    "reads backwards": lambda x: np.cumsum(x[::-1], axis=0)[::-1],
    "a leak in the second layer": lambda x: attention(*[causal_decoder(x)] * 3)[0],
}


@pytest.mark.parametrize("name", TIGHT)
def test_no_leak_is_found_in_a_causal_decoder(rng, name):
    (sequences,) = random_arrays(rng, np.float64, (3, 6, 4))
    assert leaks(TIGHT[name], sequences) is False


@pytest.mark.parametrize("name", LEAKY)
def test_a_leak_is_found_from_inputs_and_outputs(rng, name):
    (sequences,) = random_arrays(rng, np.float64, (3, 6, 4))
    kept = sequences.copy()
    assert leaks(LEAKY[name], sequences) is True
    assert_close(sequences, kept, 0)


def hears_above_three(x):
    return x + np.append(np.maximum(x[1:] - 3, 0), np.zeros_like(x[:1]), axis=0)


def test_a_leak_that_one_pair_does_not_show_is_found_with_another(rng):
    (sequences,) = random_arrays(rng, np.float64, (3, 6, 4))
    quiet = np.tanh(sequences)
    assert leaks(hears_above_three, quiet[:2]) is False
    quiet[2] += 4
    assert leaks(hears_above_three, quiet) is True


def test_a_small_leak_in_large_outputs_is_found(rng):
    (sequences,) = random_arrays(rng, np.float64, (2, 6, 4))
    assert leaks(lambda x: 100 + x + 1e-4 * x.sum(axis=0), sequences) is True


def test_leaks_are_found_with_tokens_as_inputs():
    tokens = np.array([[3, 1, 4, 1, 5], [2, 7, 18, 2, 8]])
    assert leaks(token_decoder, tokens) is False
    assert leaks(lambda tokens: token_decoder(tokens[::-1])[::-1], tokens) is True
    assert leaks(token_decoder, tokens[:, :1]) is False


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("size", [1, 3, 5, 7, 20])
def test_attention_in_blocks_is_attention_in_both_directions(rng, size, causal):
    queries, keys = random_arrays(rng, np.float64, *[(2, 7, 4)] * 2)
    (values,) = random_arrays(rng, np.float64, (2, 7, 3))
    mask = causal_mask(7) if causal else np.ones((7, 7), bool)
    expected, cache = masked_attention(20 * queries, keys, values, mask)
    output, log_total = streaming_attention(20 * queries, keys, values, size, causal)
    assert_close(output, expected, 1e-12)
    scores = np.where(mask, 20 * queries @ keys.swapaxes(-1, -2) / 2, -np.inf)
    assert_close(log_total, np.logaddexp.reduce(scores, axis=-1, keepdims=True), 1e-12)
    cotangent = rng.normal(size=output.shape)
    kept = (20 * queries, keys, values, output, log_total)
    gradients = streaming_attention_backward(cotangent, kept, size, causal)
    for gradient, right in zip(gradients, attention_backward(cotangent, cache), strict=True):
        assert_close(gradient, right, 1e-12)
