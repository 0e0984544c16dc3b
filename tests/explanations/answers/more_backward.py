"""More wrong answers to chapter 2, the backward pass."""

import numpy as np

from solutions.backward import linear_backward, softmax_backward
from tests.explanations.registry import wrong


@wrong("softmax_backward", "https://github.com/mlpack/mlpack/issues/2360")
def weights_added(grad_weights, weights):
    """Adds the weights to the gradient."""
    return weights + grad_weights


@wrong("linear_backward", "https://github.com/ooples/AiDotNet.Tensors/issues/234", names="bias_over_one_axis")
def bias_summed_over_the_first_axis(grad_output, cache):
    """Sums the bias's gradient only over the first axis."""
    grad_x, grad_weight, _ = linear_backward(grad_output, cache)
    return grad_x, grad_weight, grad_output.sum(axis=0)


@wrong("linear_backward", "https://github.com/mlpack/mlpack/pull/3679", names="bias_not_summed")
def bias_not_summed(grad_output, cache):
    """Returns the gradient of the output as that of the bias."""
    grad_x, grad_weight, _ = linear_backward(grad_output, cache)
    return grad_x, grad_weight, grad_output


@wrong("numerical_gradient", "https://github.com/HomericIntelligence/Odyssey/pull/2089", names="asks_the_original")
def both_sides_in_one_array(f, x, h=1e-5):
    """Both nudged arrays are x itself, so that f is called twice with the same values."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        old = x[index]
        above, below = x, x
        above[index] = old + h
        below[index] = old - h
        gradient[index] = (f(above) - f(below)) / (2 * h)
        x[index] = old
    return gradient


@wrong("numerical_gradient", "https://github.com/pasteurlabs/tesseract-core/issues/706")
def step_relative_to_the_largest(f, x, h=1e-5):
    """Treats h as a share of the largest entry, but divides by 2h."""
    gradient, step = np.zeros_like(x), h * np.abs(x).max()
    for index in np.ndindex(x.shape):
        nudge = np.zeros_like(x)
        nudge[index] = step
        gradient[index] = (f(x + nudge) - f(x - nudge)) / (2 * h)
    return gradient


@wrong("attention_backward", "https://github.com/HKUSTDial/flash-sparse-attention/pull/109", says="a term left out")
def gradient_not_centred(grad_output, cache):
    """Multiplies the weights only by their mean gradient, without the gradient itself."""
    queries, keys, values, weights = cache
    scale = 1 / np.sqrt(keys.shape[-1]).astype(keys.dtype)
    grad_weights = grad_output @ values.swapaxes(-1, -2)
    grad_scores = weights * (weights * grad_weights).sum(axis=-1, keepdims=True)
    return (
        grad_scores @ keys * scale,
        grad_scores.swapaxes(-1, -2) @ queries * scale,
        weights.swapaxes(-1, -2) @ grad_output,
    )


@wrong("self_attention_backward", "https://github.com/hanbt/learn_dl/pull/63", names="w_query_returned_twice")
def copied_line(grad_output, cache):
    """Computes the gradient of the key matrix from that of the queries."""
    x, w_query, w_key, w_value, (queries, keys, values, weights) = cache
    scale = 1 / np.sqrt(keys.shape[-1]).astype(keys.dtype)
    grad_scores = softmax_backward(grad_output @ values.swapaxes(-1, -2), weights) * scale
    grad_queries, grad_keys = grad_scores @ keys, grad_scores.swapaxes(-1, -2) @ queries
    from_queries, grad_w_query, _ = linear_backward(grad_queries, (x, w_query))
    from_keys, _, _ = linear_backward(grad_keys, (x, w_key))
    from_values, grad_w_value, _ = linear_backward(weights.swapaxes(-1, -2) @ grad_output, (x, w_value))
    return from_queries + from_keys + from_values, grad_w_query, grad_w_query, grad_w_value


@wrong("linear_backward", "https://github.com/iamtrask/Grokking-Deep-Learning/pull/22", names="weight_gradient_turned")
def weight_transposed(grad_output, cache):
    """Returns the weight's gradient transposed."""
    grad_x, grad_weight, grad_bias = linear_backward(grad_output, cache)
    return grad_x, grad_weight.T, grad_bias


@wrong("linear_backward", "https://github.com/itskonrad/miniMNIST-c/issues/7", says="is twice what it should be")
def x_counted_twice(grad_output, cache):
    """Adds the gradient of x twice."""
    grad_x, grad_weight, grad_bias = linear_backward(grad_output, cache)
    return grad_x + grad_x, grad_weight, grad_bias


@wrong(
    "linear_backward",
    "https://github.com/makeyourownneuralnetwork/makeyourownneuralnetwork/issues/59",
    names="inverse_for_transpose",
)
def inverse_for_the_transpose(grad_output, cache):
    """Multiplies by the inverse of the weight where the transpose is meant."""
    _, grad_weight, grad_bias = linear_backward(grad_output, cache)
    return grad_output @ np.linalg.pinv(cache[1]), grad_weight, grad_bias


@wrong("repaired_bilinear_backward", "https://github.com/torch/nn/pull/657")
def x_not_weighted(grad_scores, x, a):
    """Does not weight the gradient of x by that of the scores."""
    ones = np.ones_like(grad_scores)
    grad_a = x.swapaxes(-1, -2) @ grad_scores @ x
    return ones @ x @ a.T + ones @ x @ a, grad_a.reshape(-1, *a.shape).sum(axis=0)
