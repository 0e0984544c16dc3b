"""Chapter 2: every gradient agrees with central differences and PyTorch's autograd."""

import numpy as np
import pytest
from torch.nn import functional

from solutions.attention import attention, softmax
from solutions.backward import (
    attention_backward,
    linear,
    linear_backward,
    numerical_gradient,
    repaired_bilinear_backward,
    self_attention_backward,
    softmax_backward,
)
from solutions.self_attention import self_attention
from tests.solutions.comparing import (
    assert_close,
    assert_gradients_measured,
    assert_same_as_torch,
    leading_axes,
    random_arrays,
)
from tests.solutions.conftest import relative_error

pytestmark = pytest.mark.solutions
T_QUERY, T_KEY, D_KEY, D_VALUE, D_MODEL = 4, 7, 5, 9, 12


@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (2, 1, 3)])
def test_the_numerical_gradient_of_a_known_function(rng, shape):
    x = rng.normal(size=shape)
    kept = x.copy()
    assert relative_error(numerical_gradient(lambda a: np.sum(np.sin(a) * a), x), np.cos(x) * x + np.sin(x)) < 1e-9
    assert np.array_equal(x, kept)


def test_the_numerical_gradient_is_central():
    """Central differences are exact for quadratics with any step. Forward differences are off by h."""
    x = np.array([[1.0, -2.0], [0.5, 3.0]])
    assert relative_error(numerical_gradient(lambda a: np.sum(a * a), x, h=0.5), 2 * x) < 1e-14
    assert relative_error(numerical_gradient(lambda a: np.sum(a**3), x, h=0.5), 3 * x * x + 0.25) < 1e-14


def test_the_numerical_gradient_restores_its_argument_after_an_error_in_f():
    x = np.ones(3)
    with pytest.raises(ZeroDivisionError):
        numerical_gradient(lambda a: 1 / 0, x)
    assert np.array_equal(x, np.ones(3))


def linear_inputs(rng, leading, dtype=np.float64):
    return random_arrays(rng, dtype, (*leading, T_QUERY, D_MODEL), (D_MODEL, D_KEY), (D_KEY,))


def attention_inputs(rng, leading, dtype=np.float64):
    return random_arrays(rng, dtype, (*leading, T_QUERY, D_KEY), (*leading, T_KEY, D_KEY), (*leading, T_KEY, D_VALUE))


def self_attention_inputs(rng, leading, dtype=np.float64):
    return random_arrays(
        rng, dtype, (*leading, T_QUERY, D_MODEL), (D_MODEL, D_KEY), (D_MODEL, D_KEY), (D_MODEL, D_VALUE)
    )


def softmax_layer(scores):
    weights = softmax(scores)
    return weights, weights


def torch_self_attention(x, w_query, w_key, w_value):
    return functional.scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value)


LAYERS = {
    "linear": (linear, linear_backward, lambda x, w, b: functional.linear(x, w.T, b), linear_inputs),
    "softmax": (
        softmax_layer,
        softmax_backward,
        lambda scores: scores.softmax(-1),
        lambda rng, leading, dtype=np.float64: random_arrays(rng, dtype, (*leading, T_QUERY, T_KEY)),
    ),
    "attention": (attention, attention_backward, functional.scaled_dot_product_attention, attention_inputs),
    "self_attention": (self_attention, self_attention_backward, torch_self_attention, self_attention_inputs),
}


@leading_axes
@pytest.mark.parametrize("name", LAYERS)
def test_gradients_agree_with_central_differences(rng, name, leading):
    layer, layer_backward, _, inputs = LAYERS[name]
    assert_gradients_measured(layer, layer_backward, inputs(rng, leading), rng)


@leading_axes
@pytest.mark.parametrize("name", LAYERS)
def test_outputs_and_gradients_agree_with_pytorch(rng, name, leading, dtype):
    layer, layer_backward, torch_layer, inputs = LAYERS[name]
    assert_same_as_torch(layer, layer_backward, torch_layer, inputs(rng, leading, dtype), rng)


@pytest.mark.parametrize("leading", [(), (0,), (3, 0)])
def test_linear_accepts_a_single_position_and_an_empty_batch(rng, leading):
    x, weight, bias = random_arrays(rng, np.float64, (*leading, D_MODEL), (D_MODEL, D_KEY), (D_KEY,))
    output, cache = linear(x, weight, bias)
    assert_close(output, np.einsum("...i,io->...o", x, weight) + bias, 1e-14)
    grad_x, grad_weight, grad_bias = linear_backward(output, cache)
    assert (grad_x.shape, grad_weight.shape, grad_bias.shape) == (x.shape, weight.shape, bias.shape)


def test_linear_accepts_a_view(rng):
    """A transposed x is not contiguous, but its rows must stay its rows."""
    x, weight, bias = random_arrays(rng, np.float64, (T_QUERY, 2, D_MODEL), (D_MODEL, D_KEY), (D_KEY,))
    x = x.swapaxes(0, 1)
    output, cache = linear(x, weight, bias)
    assert_close(output, np.einsum("ntd,de->nte", x, weight) + bias, 1e-14)
    grad_x, grad_weight, _ = linear_backward(output, cache)
    assert_close(grad_x, output @ weight.T, 1e-14)
    assert_close(grad_weight, np.einsum("ntd,nte->de", x, output), 1e-14)


def test_linear_refuses_a_wrong_width(rng):
    with pytest.raises(ValueError):
        linear(*random_arrays(rng, np.float64, (2, 3), (4, 5), (5,)))


def test_a_shift_changes_neither_softmax_nor_its_gradient(rng):
    """The gradient for a cotangent of ones is therefore zero, so such a cotangent tests nothing."""
    weights = softmax(rng.normal(size=(2, T_QUERY, T_KEY)))
    assert np.abs(softmax_backward(np.ones_like(weights), weights)).max() < 1e-16
    grad_scores = softmax_backward(rng.normal(size=weights.shape), weights)
    assert np.abs(grad_scores.sum(axis=-1)).max() < 1e-15
    assert np.abs(grad_scores).max() > 0.01


def test_softmax_backward_is_a_product_with_the_jacobian(rng):
    weights, g = softmax(rng.normal(size=T_KEY)), rng.normal(size=T_KEY)
    assert_close(softmax_backward(g, weights), (np.diag(weights) - np.outer(weights, weights)) @ g, 1e-14)


@leading_axes
def test_the_bilinear_gradients(rng, leading):
    x, a, g = random_arrays(
        rng, np.float64, (*leading, T_QUERY, D_MODEL), (D_MODEL, D_MODEL), (*leading, T_QUERY, T_QUERY)
    )

    def loss(x, a):
        return np.sum(g * (x @ a @ x.swapaxes(-1, -2)))

    grad_x, grad_a = repaired_bilinear_backward(g, x, a)
    assert_close(grad_x, numerical_gradient(lambda new: loss(new, a), x), 1e-7)
    assert_close(grad_a, numerical_gradient(lambda new: loss(x, new), a), 1e-7)


def test_large_scores_give_finite_gradients(rng):
    queries, keys, values = attention_inputs(rng, (2,), np.float32)
    output, cache = attention(queries * 1e4, keys * 1e4, values)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        gradients = attention_backward(np.ones_like(output), cache)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


def test_items_of_a_batch_do_not_affect_each_other(rng):
    """Each item has the gradients that it has alone. The gradients of shared weights are sums over the items."""
    inputs = self_attention_inputs(rng, (3,))
    x, *weights = inputs
    output, cache = self_attention(*inputs)
    cotangent = rng.normal(size=output.shape)
    grad_x, *grad_weights = self_attention_backward(cotangent, cache)
    alone = [
        self_attention_backward(g, self_attention(item, *weights)[1]) for item, g in zip(x, cotangent, strict=True)
    ]
    assert_close(grad_x, np.stack([gradients[0] for gradients in alone]), 1e-13)
    for i, grad_weight in enumerate(grad_weights, start=1):
        assert_close(grad_weight, sum(gradients[i] for gradients in alone), 1e-13)


def test_the_gradient_check_rejects_a_wrong_gradient(rng):
    """A gradient with a relative error of one in a million fails the check."""
    inputs = attention_inputs(rng, (2,))
    with pytest.raises(AssertionError, match="relative error"):
        assert_gradients_measured(
            attention,
            lambda g, cache: tuple(gradient * (1 + 1e-6) for gradient in attention_backward(g, cache)),
            inputs,
            rng,
        )
