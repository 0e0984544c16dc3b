"""Chapter 7: gradients for both inputs agree with central differences and with PyTorch; masks; three norms."""

import numpy as np
import parity
import pytest
import torch
from torch.nn import functional

from solutions.cross import (
    copies_source,
    cross_attention,
    decoder_layer,
    decoder_layer_backward,
    finds_subject,
    multi_head_cross_attention_backward,
)
from solutions.masked_attention import masked_attention
from solutions.masking import causal_mask
from solutions.multihead import multi_head_attention
from solutions.parameters import initialise
from solutions.self_attention import self_attention
from tests.solutions.comparing import (
    assert_close,
    assert_gradients_measured,
    assert_same_as_torch,
    leading_axes,
    random_arrays,
    tree_map,
    without_key_bias,
)
from tests.solutions.conftest import TOLERANCE

pytestmark = pytest.mark.solutions
T, T_MEMORY, D_MODEL, D_MEMORY, D_KEY, D_VALUE, N_HEADS, D_FF = 4, 7, 6, 9, 5, 3, 2, 10


def mask_over_memory(leading=()):
    """Return a mask with padding of different lengths. In a batch, one memory consists of padding only."""
    mask = np.ones((*leading, 1, T_MEMORY), bool)
    mask[..., 5:] = False
    if leading:
        mask[0] = False
    return mask


def random_layer(rng, dtype=np.float64, width_of_memory=D_MODEL):
    """Return a decoder layer's parameters. None is 0 or 1, because initial norms and biases would hide mistakes."""
    layer = initialise(rng, {}, D_MODEL, D_FF, 0, 1)["decoder"][0]
    layer = tree_map(lambda array: (array + 0.3 * rng.normal(size=array.shape)).astype(dtype), layer)
    for name in ("w_key", "w_value"):
        layer["cross_attention"][name] = rng.normal(size=(width_of_memory, D_MODEL)).astype(dtype)
    return layer


def cross_inputs(rng, leading, dtype=np.float64):
    shapes = (
        (*leading, T, D_MODEL),
        (*leading, T_MEMORY, D_MEMORY),
        (D_MODEL, D_KEY),
        (D_MEMORY, D_KEY),
        (D_MEMORY, D_VALUE),
    )
    return random_arrays(rng, dtype, *shapes)


@leading_axes
def test_cross_attention_agrees_with_pytorch(rng, leading, dtype):
    inputs, mask = cross_inputs(rng, leading, dtype), mask_over_memory(leading)
    output, _ = cross_attention(*inputs, mask)
    x, memory, w_query, w_key, w_value = map(torch.tensor, inputs)
    expected = functional.scaled_dot_product_attention(
        x @ w_query, memory @ w_key, memory @ w_value, torch.tensor(mask)
    )
    assert output.dtype == dtype
    assert_close(output, expected.numpy(), TOLERANCE[dtype])


def test_cross_attention_of_a_sequence_to_itself_is_self_attention(rng):
    x, w_query, w_key, w_value = random_arrays(rng, np.float64, (2, T, D_MODEL), *[(D_MODEL, D_KEY)] * 3)
    output, _ = cross_attention(x, x, w_query, w_key, w_value, np.ones((T, T), bool))
    assert_close(output, self_attention(x, w_query, w_key, w_value)[0], 1e-15)


@leading_axes
def test_gradients_of_multi_head_cross_attention_agree_with_central_differences(rng, leading):
    mask = mask_over_memory(leading)
    x, memory = random_arrays(rng, np.float64, (*leading, T, D_MODEL), (*leading, T_MEMORY, D_MEMORY))
    params = random_layer(rng, width_of_memory=D_MEMORY)["cross_attention"]
    assert_gradients_measured(
        lambda x, memory, params: multi_head_attention(x, memory, memory, params, N_HEADS, mask),
        multi_head_cross_attention_backward,
        (x, memory, params),
        rng,
    )


@leading_axes
def test_gradients_of_the_decoder_layer_agree_with_central_differences(rng, leading):
    masks = causal_mask(T), mask_over_memory(leading)
    x, memory = random_arrays(rng, np.float64, (*leading, T, D_MODEL), (*leading, T_MEMORY, D_MEMORY))
    assert_gradients_measured(
        lambda x, memory, params: decoder_layer(x, memory, params, N_HEADS, *masks),
        decoder_layer_backward,
        (x, memory, random_layer(rng, width_of_memory=D_MEMORY)),
        rng,
    )


def test_the_decoder_layer_agrees_with_pytorch(rng, dtype):
    inputs = *random_arrays(rng, dtype, (3, T, D_MODEL), (3, T_MEMORY, D_MODEL)), random_layer(rng, dtype)
    future, padding = ~causal_mask(T), np.arange(T_MEMORY) >= np.array([[7], [4], [1]])
    assert_same_as_torch(
        lambda x, memory, params: decoder_layer(x, memory, params, N_HEADS, ~future, ~padding[:, np.newaxis]),
        decoder_layer_backward,
        parity.decoder_layer(D_MODEL, N_HEADS, D_FF, future, padding),
        inputs,
        rng,
    )


def test_a_memory_of_padding_gives_zeros_and_no_nan(rng):
    x, memory = random_arrays(rng, np.float64, (2, T, D_MODEL), (2, T_MEMORY, D_MODEL))
    mask = np.ones((2, 1, T_MEMORY), bool)
    mask[1] = False
    output, cache = decoder_layer(x, memory, random_layer(rng), N_HEADS, causal_mask(T), mask)
    _, grad_memory, grad_params = decoder_layer_backward(rng.normal(size=output.shape), cache)
    assert np.all(np.isfinite(output)) and not np.any(grad_memory[1]) and np.any(grad_memory[0])
    assert_close(tree_map(np.isfinite, grad_params), tree_map(lambda array: np.ones(array.shape), grad_params), 0)


def test_the_decoder_does_not_depend_on_the_future_or_on_masked_memory(rng):
    x, memory = random_arrays(rng, np.float64, (T, D_MODEL), (T_MEMORY, D_MODEL))
    layer, masks = random_layer(rng), (causal_mask(T), mask_over_memory())
    output, _ = decoder_layer(x, memory, layer, N_HEADS, *masks)
    x[-1] += 1
    memory[5:] += 1
    changed, _ = decoder_layer(x, memory, layer, N_HEADS, *masks)
    assert np.array_equal(output[:-1], changed[:-1]) and not np.allclose(output[-1], changed[-1])


def test_dropout_is_seeded_and_off_without_a_generator(rng):
    x, memory = random_arrays(rng, np.float64, (T, D_MODEL), (T_MEMORY, D_MODEL))
    layer = random_layer(rng)

    def output(seed):
        generator = None if seed is None else np.random.default_rng(seed)
        return decoder_layer(x, memory, layer, N_HEADS, rate=0.5, rng=generator)[0]

    assert np.array_equal(output(1), output(1)) and not np.allclose(output(1), output(2))
    assert np.array_equal(output(None), decoder_layer(x, memory, layer, N_HEADS)[0])


def test_without_key_bias_leaves_out_only_gradients_that_are_zero(rng):
    """The key bias shifts all scores of a row equally, so its gradient is only rounding error."""
    x, memory = random_arrays(rng, np.float64, (T, D_MODEL), (T_MEMORY, D_MODEL))
    output, cache = decoder_layer(x, memory, random_layer(rng), N_HEADS)
    *_, grad_params = decoder_layer_backward(rng.normal(size=output.shape), cache)
    assert np.abs(grad_params["cross_attention"]["b_key"]).max() < 1e-14
    assert "b_key" not in without_key_bias(grad_params)["cross_attention"]


@pytest.mark.parametrize("length", [3, 12, 70])
def test_each_verb_finds_the_last_noun_of_its_number(length, rng):
    kinds = np.array([0, 1, 2, 3, 4, 1, 2])
    words = np.concatenate([[1, 2], rng.integers(7, size=length - 2)])
    x = np.concatenate([np.eye(7)[words], np.eye(length)], axis=1)
    projected = (x @ w for w in finds_subject(kinds, length))
    output, (*_, weights) = masked_attention(*projected, causal_mask(length))
    for verb in np.flatnonzero(kinds[words] >= 3):
        subject = max(t for t in range(verb) if kinds[words[t]] == kinds[words[verb]] - 2)
        assert weights[verb, subject] > 0.99 and output[verb].argmax() == words[subject]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(("n_words", "length"), [(3, 3), (12, 5), (99, 60)])
def test_a_decoder_that_copies_writes_its_source(n_words, length, backwards, rng):
    source = rng.permutation(n_words)[:length].tolist()
    eye, sentence = np.eye(n_words + 1), [*source, n_words]
    memory = np.concatenate([eye[sentence], eye[[n_words, *source]]], axis=1)
    w_query, w_key, w_value = copies_source(n_words, backwards)
    written = [n_words]
    while len(written) <= length + 1:
        output, cache = cross_attention(eye[written], memory, w_query, w_key, w_value, np.ones((1, 1), bool))
        weights = cache[-1][-1]
        assert weights[-1].max() > 0.99
        written.append(int(output[-1].argmax()))
    assert written[1:] == [*(source[::-1] if backwards else source), n_words]
