"""Chapter 5: layer norm, feed-forward, dropout and encoder layers agree with PyTorch's modules."""

from functools import partial

import numpy as np
import parity
import pytest
import torch
from torch import nn
from torch.nn import functional

from solutions.backward import numerical_gradient
from solutions.dropout import dropout, dropout_backward
from solutions.masking import causal_mask, padding_mask
from solutions.multihead import multi_head_attention
from solutions.norms import rms_norm
from solutions.residual import (
    add_norm,
    add_norm_backward,
    encoder_layer,
    encoder_layer_backward,
    feed_forward,
    feed_forward_backward,
    layer_norm,
    layer_norm_backward,
    pre_norm_encoder_layer,
    pre_norm_encoder_layer_backward,
    rms_norm_backward,
)
from tests.solutions.comparing import (
    assert_close,
    assert_gradients_measured,
    assert_same_as_torch,
    leading_axes,
    random_arrays,
    tree_map,
)
from tests.solutions.conftest import TOLERANCE, relative_error

pytestmark = pytest.mark.solutions


def norm_inputs(rng, sizes, leading, dtype=np.float64):
    return random_arrays(rng, dtype, (*leading, sizes.T, sizes.d_model), (sizes.d_model,), (sizes.d_model,))


def feed_forward_params(rng, sizes, dtype=np.float64):
    shapes = {"w_in": (sizes.d_model, sizes.d_ff), "b_in": (sizes.d_ff,)}
    shapes |= {"w_out": (sizes.d_ff, sizes.d_model), "b_out": (sizes.d_model,)}
    return {name: (rng.normal(size=shape) / 2).astype(dtype) for name, shape in shapes.items()}


def feed_forward_inputs(rng, sizes, leading, dtype=np.float64):
    return *random_arrays(rng, dtype, (*leading, sizes.T, sizes.d_model)), feed_forward_params(rng, sizes, dtype)


def norm_params(rng, sizes, dtype=np.float64):
    """Return gains that are not one and biases that are not zero."""
    gain, bias = rng.uniform(0.5, 2, sizes.d_model), rng.normal(size=sizes.d_model)
    return {"gain": gain.astype(dtype), "bias": bias.astype(dtype)}


def add_norm_inputs(rng, sizes, leading, dtype=np.float64):
    x, update = random_arrays(rng, dtype, *[(*leading, sizes.T, sizes.d_model)] * 2)
    return x, update, norm_params(rng, sizes, dtype)


def layer_params(rng, sizes, dtype=np.float64):
    names = ("query", "key", "value", "output")
    attention = {f"w_{name}": rng.normal(size=(sizes.d_model, sizes.d_model)) / 3 for name in names}
    attention |= {f"b_{name}": rng.normal(size=sizes.d_model) for name in names}
    return {
        "attention": tree_map(lambda array: array.astype(dtype), attention),
        "norm_attention": norm_params(rng, sizes, dtype),
        "feed_forward": feed_forward_params(rng, sizes, dtype),
        "norm_feed_forward": norm_params(rng, sizes, dtype),
    }


def layer_inputs(rng, sizes, leading, dtype=np.float64):
    return *random_arrays(rng, dtype, (*leading, sizes.T, sizes.d_model)), layer_params(rng, sizes, dtype)


def torch_feed_forward(x, p):
    return functional.linear(functional.linear(x, p["w_in"].T, p["b_in"]).relu(), p["w_out"].T, p["b_out"])


def torch_add_norm(x, update, p):
    return functional.layer_norm(x + update, x.shape[-1:], p["gain"], p["bias"])


PIECES = {
    "layer_norm": (
        layer_norm,
        layer_norm_backward,
        lambda x, gain, bias: functional.layer_norm(x, x.shape[-1:], gain, bias),
        norm_inputs,
    ),
    "rms_norm": (
        rms_norm,
        rms_norm_backward,
        lambda x, gain: functional.rms_norm(x, x.shape[-1:], gain, 1e-5),
        lambda *arguments: norm_inputs(*arguments)[:2],
    ),
    "feed_forward": (feed_forward, feed_forward_backward, torch_feed_forward, feed_forward_inputs),
    "add_norm": (add_norm, add_norm_backward, torch_add_norm, add_norm_inputs),
}


@leading_axes
@pytest.mark.parametrize("name", PIECES)
def test_gradients_agree_with_central_differences(rng, sizes, name, leading):
    layer, layer_backward, _, inputs = PIECES[name]
    assert_gradients_measured(layer, layer_backward, inputs(rng, sizes, leading), rng)


@leading_axes
@pytest.mark.parametrize("name", PIECES)
def test_outputs_and_gradients_agree_with_pytorch(rng, sizes, name, leading, dtype):
    layer, layer_backward, torch_layer, inputs = PIECES[name]
    assert_same_as_torch(layer, layer_backward, torch_layer, inputs(rng, sizes, leading, dtype), rng)


def test_a_single_position_without_other_axes_is_accepted(rng, sizes):
    for layer, layer_backward, _, inputs in PIECES.values():
        first, *rest = inputs(rng, sizes, ())
        rest = [value[0] if isinstance(value, np.ndarray) and value.ndim == 2 else value for value in rest]
        assert_gradients_measured(layer, layer_backward, (first[0], *rest), rng)


# ---- layer norm -------------------------------------------------------------------------------------------------


def test_an_initial_norm_gives_mean_zero_and_variance_one(rng, sizes):
    output, _ = layer_norm(10 + 3 * rng.normal(size=(2, sizes.T, sizes.d_model)), np.ones(12), np.zeros(12))
    assert np.abs(output.mean(axis=-1)).max() < 1e-13
    assert_close(output.var(axis=-1), np.ones((2, sizes.T)), 1e-4)


@pytest.mark.parametrize("eps", [1e-5, 0.1, 2.0])
def test_eps_is_inside_the_root(rng, sizes, dtype, eps):
    x, gain, bias = norm_inputs(rng, sizes, (2,), dtype)
    output, cache = layer_norm(x, gain, bias, eps)
    tensors = [torch.tensor(array, requires_grad=True) for array in (x, gain, bias)]
    expected = functional.layer_norm(tensors[0], x.shape[-1:], *tensors[1:], eps=eps)
    cotangent = rng.normal(size=x.shape).astype(dtype)
    expected.backward(torch.tensor(cotangent))
    assert relative_error(output, expected.detach()) < TOLERANCE[dtype]
    for gradient, tensor in zip(layer_norm_backward(cotangent, cache), tensors, strict=True):
        assert relative_error(gradient, tensor.grad) < TOLERANCE[dtype]


def test_a_constant_row_is_normalised_to_zero(sizes, dtype):
    x = np.full((2, sizes.d_model), 7, dtype)
    gain, bias = np.full(sizes.d_model, 2, dtype), np.ones(sizes.d_model, dtype)
    with np.errstate(all="raise"):
        output, cache = layer_norm(x, gain, bias)
        gradients = layer_norm_backward(np.arange(24, dtype=dtype).reshape(x.shape), cache)
    assert np.array_equal(output, np.ones_like(x))
    assert all(np.isfinite(gradient).all() for gradient in gradients)


def test_the_norm_does_not_depend_on_shift_or_scale(rng, sizes):
    x, gain, bias = norm_inputs(rng, sizes, (2,))
    output, cache = layer_norm(x, gain, bias, eps=0)
    assert_close(layer_norm(5 * x + 3, gain, bias, eps=0)[0], output, 1e-13)
    grad_x, *_ = layer_norm_backward(rng.normal(size=x.shape), cache)
    assert np.abs(grad_x.sum(axis=-1)).max() < 1e-13
    assert np.abs(np.sum(grad_x * x, axis=-1)).max() < 1e-13


# ---- dropout ----------------------------------------------------------------------------------------------------


def test_dropout_keeps_or_drops_entries_and_keeps_the_mean(dtype):
    x = np.full((200, 300), 3, dtype)
    output, scale = dropout(x, 0.25, np.random.default_rng(1))
    assert output.dtype == scale.dtype == dtype
    assert_close(np.unique(output), np.array([0, 4]), 1e-6)
    assert abs(output.mean() - 3) < 0.02 and abs((output == 0).mean() - 0.25) < 0.005


def test_dropout_is_seeded_by_its_generator(rng):
    x = rng.normal(size=(3, 4))
    output, _ = dropout(x, 0.5, np.random.default_rng(8))
    kept = np.random.default_rng(8).random(x.shape) >= 0.5
    assert_close(output, np.where(kept, 2 * x, 0), 1e-15)
    shared = np.random.default_rng(8)
    assert not np.array_equal(dropout(x, 0.5, shared)[0], dropout(x, 0.5, shared)[0])


@pytest.mark.parametrize("rate, seeded", [(0.5, False), (0.0, True), (0.0, False)])
def test_without_training_or_rate_nothing_is_dropped(rng, dtype, rate, seeded):
    x, cotangent = random_arrays(rng, dtype, (3, 4), (3, 4))
    output, cache = dropout(x, rate, rng if seeded else None)
    gradient = dropout_backward(cotangent, cache)
    assert np.array_equal(output, x) and np.array_equal(gradient, cotangent)
    assert output.dtype == gradient.dtype == dtype


@pytest.mark.parametrize("shape", [(), (5,), (2, 3, 4)])
def test_dropout_gradients_agree_with_central_differences(rng, shape):
    inputs = random_arrays(rng, np.float64, shape)
    assert_gradients_measured(lambda x: dropout(x, 0.4, np.random.default_rng(3)), dropout_backward, inputs, rng)


def test_add_norm_with_dropout(rng, sizes):
    """Dropout applies to the update and never to the residual stream."""
    inputs = add_norm_inputs(rng, sizes, (2,))

    def seeded(*inputs):
        return add_norm(*inputs, 0.4, np.random.default_rng(3))

    assert_gradients_measured(seeded, add_norm_backward, inputs, rng)
    x, update, params = inputs
    expected, _ = layer_norm(x + dropout(update, 0.4, np.random.default_rng(3))[0], **params)
    assert_close(seeded(*inputs)[0], expected, 0)


# ---- encoder layers ---------------------------------------------------------------------------------------------


def make_mask(rng, sizes, kind, leading):
    if kind == "no mask":
        return None
    mask = rng.random((*leading, sizes.T, sizes.T)) < 0.6
    mask[..., 2, :] = False
    return mask


ENCODERS = {
    "post-norm": (encoder_layer, encoder_layer_backward),
    "pre-norm": (pre_norm_encoder_layer, pre_norm_encoder_layer_backward),
}


@pytest.mark.parametrize("kind", ["no mask", "mask with an empty row"])
@pytest.mark.parametrize("leading", [(), (2,)], ids=["no batch", "one batch axis"])
@pytest.mark.parametrize("order", ENCODERS)
def test_encoder_gradients_agree_with_central_differences(rng, sizes, order, leading, kind):
    encoder, encoder_backward = ENCODERS[order]
    mask, inputs = make_mask(rng, sizes, kind, leading), layer_inputs(rng, sizes, leading)
    assert_gradients_measured(lambda x, params: encoder(x, params, sizes.n_heads, mask), encoder_backward, inputs, rng)


@pytest.mark.parametrize("order", ENCODERS)
def test_encoder_gradients_with_dropout_agree_with_central_differences(rng, sizes, order):
    encoder, encoder_backward = ENCODERS[order]

    def seeded(x, params):
        return encoder(x, params, sizes.n_heads, causal_mask(sizes.T), 0.3, np.random.default_rng(3))

    assert_gradients_measured(seeded, encoder_backward, layer_inputs(rng, sizes, ()), rng)


def test_encoder_dropout_follows_the_paper(rng, sizes):
    """Dropout applies to the output of each sub-layer before it is added: attention first, then feed-forward."""
    x, params = layer_inputs(rng, sizes, (2,))
    output, _ = encoder_layer(x, params, sizes.n_heads, None, 0.3, np.random.default_rng(5))
    generator = np.random.default_rng(5)
    attended, _ = multi_head_attention(x, x, x, params["attention"], sizes.n_heads)
    x, _ = layer_norm(x + dropout(attended, 0.3, generator)[0], **params["norm_attention"])
    thought, _ = feed_forward(x, params["feed_forward"])
    expected, _ = layer_norm(x + dropout(thought, 0.3, generator)[0], **params["norm_feed_forward"])
    assert_close(output, expected, 0)


def test_pre_norm_applies_dropout_to_the_updates_and_never_to_the_stream(rng, sizes):
    x, params = layer_inputs(rng, sizes, (2,))
    output, _ = pre_norm_encoder_layer(x, params, sizes.n_heads, None, 0.3, np.random.default_rng(5))
    generator = np.random.default_rng(5)
    normed, _ = layer_norm(x, **params["norm_attention"])
    attended, _ = multi_head_attention(normed, normed, normed, params["attention"], sizes.n_heads)
    x = x + dropout(attended, 0.3, generator)[0]
    thought, _ = feed_forward(layer_norm(x, **params["norm_feed_forward"])[0], params["feed_forward"])
    assert_close(output, x + dropout(thought, 0.3, generator)[0], 0)


@pytest.mark.parametrize("kind", ["no mask", "causal", "padding", "both"])
@pytest.mark.parametrize("leading", [(), (2,)], ids=["no batch", "one batch axis"])
@pytest.mark.parametrize("order", ENCODERS)
def test_results_agree_with_the_module(rng, sizes, dtype, order, leading, kind):
    """Compare outputs and all gradients with those of nn.TransformerEncoderLayer."""
    encoder, encoder_backward = ENCODERS[order]
    mask, torch_masks = None if kind == "no mask" else np.ones((1, 1), bool), {}
    if kind in ("causal", "both"):
        mask = causal_mask(sizes.T)
        torch_masks["src_mask"] = torch.tensor(~mask)
    if kind in ("padding", "both"):
        lengths = np.array([3, 4])[:, np.newaxis] if leading else 3
        tokens = (np.arange(sizes.T) < lengths).astype(int)
        mask = mask & padding_mask(tokens, pad=0)
        torch_masks["src_key_padding_mask"] = torch.tensor(tokens == 0)
    widths, options = (sizes.d_model, sizes.n_heads, sizes.d_ff), {"dropout": 0, "batch_first": True}
    module = nn.TransformerEncoderLayer(*widths, **options, norm_first=order == "pre-norm")

    def torch_layer(x, params):
        state = parity._layer(params, {"self_attn": "attention"}, ("attention", "feed_forward"))
        return torch.func.functional_call(module, state, (x,), torch_masks)

    inputs = layer_inputs(rng, sizes, leading, dtype)
    ours = partial(encoder, n_heads=sizes.n_heads, mask=mask)
    assert_same_as_torch(ours, encoder_backward, torch_layer, inputs, rng)


def test_pre_norm_passes_the_gradient_on_unchanged(rng, sizes):
    """If the sub-layers add nothing, pre-norm changes neither x nor its gradient. Post-norm rescales both."""
    x, params = layer_inputs(rng, sizes, ())
    for part, names in {"attention": ("w_output", "b_output"), "feed_forward": ("w_out", "b_out")}.items():
        params[part] |= {name: np.zeros_like(params[part][name]) for name in names}
    output, cache = pre_norm_encoder_layer(x, params, sizes.n_heads)
    grad_x, _ = pre_norm_encoder_layer_backward(x, cache)
    assert np.array_equal(output, x) and np.array_equal(grad_x, x)
    assert relative_error(encoder_layer(x, params, sizes.n_heads)[0], x) > 0.1


def test_relu_has_a_kink_that_a_large_step_crosses(rng, sizes):
    """A gradient check of a relu layer can fail for a right gradient. Here every hidden value is 1e-6 from zero."""
    x, params = feed_forward_inputs(rng, sizes, ())
    x = x[0]
    params["b_in"] = 1e-6 - x @ params["w_in"]
    output, cache = feed_forward(x, params)
    cotangent = rng.normal(size=output.shape)
    grad_x, _ = feed_forward_backward(cotangent, cache)

    def loss(new):
        return np.sum(cotangent * feed_forward(new, params)[0])

    assert relative_error(numerical_gradient(loss, x, h=1e-5), grad_x) > 0.1
    assert relative_error(numerical_gradient(loss, x, h=1e-7), grad_x) < 1e-7
