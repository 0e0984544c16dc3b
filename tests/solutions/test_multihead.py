"""Chapter 4: heads are split and merged, and multi-head attention agrees with `nn.MultiheadAttention`."""

import numpy as np
import parity
import pytest
import torch
from torch import nn
from torch.nn import functional

from solutions.attention import attention
from solutions.masking import causal_mask, padding_mask
from solutions.multihead import (
    cached_weights,
    grouped_query_attention,
    grouped_query_attention_backward,
    merge_heads,
    multi_head_attention,
    multi_head_attention_backward,
    split_heads,
    two_heads,
    without_needless_biases,
)
from tests.solutions.comparing import (
    assert_close,
    assert_gradients_measured,
    assert_same_as_torch,
    leading_axes,
    random_arrays,
)
from tests.solutions.conftest import TOLERANCE, relative_error

pytestmark = pytest.mark.solutions


@leading_axes
def test_split_gives_each_head_its_own_features(rng, leading, dtype):
    x = rng.normal(size=(*leading, 4, 3 * 5)).astype(dtype)
    heads = split_heads(x, 3)
    assert heads.shape == (*leading, 3, 4, 5) and heads.dtype == dtype
    for h in range(3):
        assert np.array_equal(heads[..., h, :, :], x[..., 5 * h : 5 * (h + 1)])
    assert np.shares_memory(heads, x)


@leading_axes
def test_merge_is_concatenation_and_undoes_split(rng, leading):
    heads = rng.normal(size=(*leading, 3, 4, 5))
    merged = merge_heads(heads)
    assert np.array_equal(merged, np.concatenate([heads[..., h, :, :] for h in range(3)], axis=-1))
    assert np.array_equal(split_heads(merged, 3), heads)


def test_features_that_cannot_be_divided_are_refused():
    with pytest.raises(ValueError, match="10 features cannot be divided among 3 heads"):
        split_heads(np.zeros((4, 10)), 3)


def make_params(rng, sizes, dtype=np.float64, widths=(11, 13, 14)):
    """Return params in which d_key, d_value, the inputs' widths and d_model differ, and no bias is close to zero."""
    keys, values = sizes.n_heads * sizes.d_key, sizes.n_heads * sizes.d_value
    d_query_in, d_key_in, d_value_in = widths
    shapes = {
        "w_query": (d_query_in, keys),
        "w_key": (d_key_in, keys),
        "w_value": (d_value_in, values),
        "w_output": (values, sizes.d_model),
        "b_query": (keys,),
        "b_key": (keys,),
        "b_value": (values,),
        "b_output": (sizes.d_model,),
    }
    return {name: (rng.normal(size=shape) / 3).astype(dtype) for name, shape in shapes.items()}


def make_inputs(rng, sizes, leading, dtype=np.float64, widths=(11, 13, 14)):
    lengths = (sizes.T_query, sizes.T_key, sizes.T_key)
    shapes = [(*leading, length, width) for length, width in zip(lengths, widths, strict=True)]
    return *random_arrays(rng, dtype, *shapes), make_params(rng, sizes, dtype, widths)


def make_mask(rng, sizes, kind, leading):
    if kind == "no mask":
        return None
    mask = rng.random((*(leading if kind == "one per item" else ()), sizes.T_query, sizes.T_key)) < 0.6
    mask[..., 2, :] = False
    return mask


MASKS = pytest.mark.parametrize("kind", ["no mask", "shared", "one per item"])


def torch_multi_head(n_heads, mask):
    """Return PyTorch code that computes one head after another, as in the paper."""

    def attend(query, key, value, p):
        queries, keys, values = (
            functional.linear(x, p[f"w_{role}"].T, p[f"b_{role}"]).chunk(n_heads, dim=-1)
            for role, x in (("query", query), ("key", key), ("value", value))
        )
        hidden = ~torch.tensor(True if mask is None else mask)
        heads = []
        for q, k, v in zip(queries, keys, values, strict=True):
            scores = q @ k.mT / q.shape[-1] ** 0.5
            heads.append(scores.masked_fill(hidden, -1e30).softmax(-1).masked_fill(hidden, 0) @ v)
        return functional.linear(torch.cat(heads, dim=-1), p["w_output"].T, p["b_output"])

    return attend


@MASKS
@pytest.mark.parametrize("leading", [(), (2,)], ids=["no batch", "one batch axis"])
def test_gradients_agree_with_central_differences(rng, sizes, leading, kind):
    mask = make_mask(rng, sizes, kind, leading)
    assert_gradients_measured(
        lambda *inputs: multi_head_attention(*inputs, sizes.n_heads, mask),
        multi_head_attention_backward,
        make_inputs(rng, sizes, leading),
        rng,
    )


@MASKS
@leading_axes
def test_outputs_and_gradients_agree_with_pytorch(rng, sizes, leading, kind, dtype):
    mask = make_mask(rng, sizes, kind, leading)
    assert_same_as_torch(
        lambda *inputs: multi_head_attention(*inputs, sizes.n_heads, mask),
        multi_head_attention_backward,
        torch_multi_head(sizes.n_heads, mask),
        make_inputs(rng, sizes, leading, dtype),
        rng,
    )


def test_a_mask_of_a_batch_is_not_applied_to_the_heads(rng, sizes):
    """With as many sentences as heads, a mask without an axis for the heads would broadcast wrongly."""
    query, key, value, params = make_inputs(rng, sizes, (sizes.n_heads,))
    mask = make_mask(rng, sizes, "one per item", (sizes.n_heads,))
    output, _ = multi_head_attention(query, key, value, params, sizes.n_heads, mask)
    for i in range(sizes.n_heads):
        alone, _ = multi_head_attention(query[i], key[i], value[i], params, sizes.n_heads, mask[i])
        assert_close(output[i], alone, 1e-13)


@leading_axes
def test_a_mask_of_one_axis_is_one_row_for_all_queries(rng, sizes, leading):
    inputs = make_inputs(rng, sizes, leading)
    row = np.arange(inputs[1].shape[-2]) > 0
    output, _ = multi_head_attention(*inputs, sizes.n_heads, row)
    full = np.broadcast_to(row, (inputs[0].shape[-2], len(row)))
    assert_close(output, multi_head_attention(*inputs, sizes.n_heads, full)[0], 0)


@leading_axes
def test_the_key_bias_has_no_gradient(rng, sizes, leading):
    """The bias adds the same number to a whole row of scores, and softmax does not change under a shift."""
    output, cache = multi_head_attention(*make_inputs(rng, sizes, leading), sizes.n_heads)
    *_, gradients = multi_head_attention_backward(rng.normal(size=output.shape), cache)
    assert np.abs(gradients["b_key"]).max() < 1e-13 * np.abs(gradients["b_query"]).max()


def test_a_single_head_without_its_last_projection_is_attention(rng, sizes):
    params = make_params(rng, sizes) | {"w_output": np.eye(sizes.n_heads * sizes.d_value), "b_output": np.zeros(27)}
    query, key, value, _ = make_inputs(rng, sizes, (2,))
    output, _ = multi_head_attention(query, key, value, params, 1)
    projected = [x @ params[f"w_{r}"] + params[f"b_{r}"] for r, x in (("query", query), ("key", key), ("value", value))]
    assert_close(output, attention(*projected)[0], 1e-14)


# ---- nn.MultiheadAttention ---------------------------------------------------------------------------------------


D_MODEL, HEADS = 12, 3
SELF, CROSS = (D_MODEL,) * 3, (D_MODEL, 10, 14)


def square_params(rng, dtype, widths):
    """Return our params in shapes that PyTorch's module allows, with biases that are not zero."""
    shapes = [(width, D_MODEL) for width in (*widths, D_MODEL)]
    names = ("query", "key", "value", "output")
    return {f"w_{n}": (rng.normal(size=s) / 3).astype(dtype) for n, s in zip(names, shapes, strict=True)} | {
        f"b_{n}": rng.normal(size=D_MODEL).astype(dtype) for n in names
    }


@pytest.mark.parametrize("kind", ["no mask", "causal", "padding", "both"])
@pytest.mark.parametrize("leading", [(), (2,)], ids=["no batch", "one batch axis"])
@pytest.mark.parametrize("widths", [SELF, CROSS], ids=["self", "cross"])
def test_results_agree_with_the_module(rng, dtype, widths, leading, kind):
    """Compare outputs, the weights of each head, and all gradients."""
    T_query, T_key = 5, 5 if widths == SELF else 7
    mask, torch_masks = None if kind == "no mask" else np.ones((T_query, T_key), bool), {}
    if kind in ("causal", "both"):
        mask = np.tri(T_query, T_key, dtype=bool)
        torch_masks["attn_mask"] = torch.tensor(~mask)  # in PyTorch, True hides a position
    if kind in ("padding", "both"):
        lengths = np.array([3, 4])[:, np.newaxis] if leading else 3
        tokens = (np.arange(T_key) < lengths).astype(int)
        mask = mask & padding_mask(tokens, pad=0)
        torch_masks["key_padding_mask"] = torch.tensor(tokens == 0)
    module = nn.MultiheadAttention(D_MODEL, HEADS, kdim=widths[1], vdim=widths[2], batch_first=True)
    weights = {}

    def layer(*inputs):
        output, cache = multi_head_attention(*inputs, HEADS, mask)
        weights["ours"] = cached_weights(cache)
        return output, cache

    def torch_layer(*roles_and_params):
        *roles, params = roles_and_params
        state, options = parity._packed(params, apart=widths != SELF), torch_masks | {"average_attn_weights": False}
        output, weights["theirs"] = torch.func.functional_call(module, state, tuple(roles), options)
        return output

    shapes = [(*leading, length, width) for length, width in zip((T_query, T_key, T_key), widths, strict=True)]
    params, roles = square_params(rng, dtype, widths), random_arrays(rng, dtype, *shapes)
    roles = roles[:1] * 3 if widths == SELF else roles
    assert_same_as_torch(layer, multi_head_attention_backward, torch_layer, (*roles, params), rng)
    assert relative_error(weights["ours"], weights["theirs"].detach()) < TOLERANCE[dtype]


# ---- grouped ----------------------------------------------------------------------------------------------------


def grouped_heads(rng, leading, n_groups, dtype=np.float64):
    shapes = (6, 5, 4), (n_groups, 7, 4), (n_groups, 7, 3)
    return random_arrays(rng, dtype, *((*leading, *shape) for shape in shapes))


@leading_axes
@pytest.mark.parametrize("n_groups", [1, 2, 3, 6])
def test_grouped_queries_agree_with_pytorch(rng, leading, dtype, n_groups):
    arrays = grouped_heads(rng, leading, n_groups, dtype)
    output, cache = grouped_query_attention(*arrays)
    grad_output = rng.normal(size=output.shape).astype(dtype)
    gradients = grouped_query_attention_backward(grad_output, cache)

    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    # PyTorch takes exactly one batch axis for grouped queries.
    inputs = [tensor.reshape(-1, *tensor.shape[-3:]) for tensor in tensors]
    expected = torch.nn.functional.scaled_dot_product_attention(*inputs, enable_gqa=True).reshape(output.shape)
    expected.backward(torch.tensor(grad_output))
    assert output.dtype == dtype and {gradient.dtype for gradient in gradients} == {np.dtype(dtype)}
    assert_close(output, expected.detach().numpy(), TOLERANCE[dtype])
    assert_close(tuple(gradients), tuple(tensor.grad.numpy() for tensor in tensors), TOLERANCE[dtype])


def test_grouped_queries_keep_only_the_shared_keys_and_values(rng):
    queries, keys, values = grouped_heads(rng, (2,), 2)
    _, cache = grouped_query_attention(queries, keys, values)
    assert cache[1] is keys and cache[2] is values and cache[3].shape == (2, 6, 5, 7)


@pytest.mark.parametrize(("n_words", "length"), [(1, 2), (6, 9), (30, 80)])
def test_one_head_finds_the_word_before_and_the_other_the_first_word(n_words, length, rng):
    words = rng.integers(n_words, size=length)
    x = np.concatenate([np.eye(n_words)[words], np.eye(length)], axis=1)
    output, (*_, weights) = attention(*(split_heads(x @ w, 2) for w in two_heads(n_words, length)))
    assert (np.diagonal(weights[0], offset=-1) > 0.99).all() and (weights[1, :, 0] > 0.99).all()
    assert (output[0, 1:].argmax(axis=-1) == words[:-1]).all() and (output[1].argmax(axis=-1) == words[0]).all()


def test_under_a_causal_mask_the_first_output_depends_only_on_the_first_position(rng):
    params = square_params(rng, np.float64, SELF)
    x = rng.normal(size=(2, 5, D_MODEL))
    output, _ = multi_head_attention(x, x, x, params, HEADS, causal_mask(5))
    first, _ = multi_head_attention(x[:, :1], x[:, :1], x[:, :1], params, HEADS)
    assert_close(output[:, :1], first, 1e-13)


def test_a_layer_without_needless_biases_is_equivalent_where_a_query_sees_something(rng, sizes):
    params = make_params(rng, sizes)
    arrays = rng.normal(size=(5, 11)), rng.normal(size=(6, 13)), rng.normal(size=(6, 14))
    mask = rng.random((5, 6)) < 0.6
    mask[:, 0], mask[2] = True, False
    fewer = without_needless_biases(params)
    assert not fewer["b_key"].any() and not fewer["b_value"].any() and params["b_value"].all()
    ours, same = (multi_head_attention(*arrays, each, sizes.n_heads, mask)[0] for each in (params, fewer))
    sees = mask.any(axis=1)
    assert_close(same[sees], ours[sees], 1e-13)
    assert not np.isclose(same[~sees], ours[~sees]).all()
