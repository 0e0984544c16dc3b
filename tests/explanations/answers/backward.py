"""Wrong answers to chapter 2, the backward pass."""

import math

import numpy as np

from solutions.backward import attention_backward, linear_backward, softmax_backward
from tests.explanations.registry import wrong


def transposed(array):
    return np.swapaxes(array, -1, -2)


@wrong("softmax_backward", "https://github.com/deeplearning4j/libnd4j/issues/440", names="diagonal_jacobian")
def derivative_of_each_output(grad_weights, weights):
    """Uses only s (1 - s), the diagonal of the Jacobian."""
    return grad_weights * weights * (1 - weights)


@wrong(
    "softmax_backward", "https://github.com/HomericIntelligence/Odyssey/issues/2134", names="without_the_outer_product"
)
def without_the_dot_product(grad_weights, weights):
    """Lacks the sum of gradients times weights."""
    return weights * grad_weights


@wrong("softmax_backward", "https://github.com/mlpack/mlpack/pull/3469", says="the factor `weights` left out")
def backward_of_the_logarithm(grad_weights, weights):
    """Goes back through the logarithm of softmax: g - s sum(g)."""
    return grad_weights - weights * grad_weights.sum(axis=-1, keepdims=True)


@wrong("softmax_backward", "https://github.com/PrincetonUniversity/PsyNeuLink/pull/2539", names="one_sum_for_all")
def one_sum_for_all_rows(grad_weights, weights):
    """Treats all rows as one, so that one sum serves the whole array."""
    return weights * (grad_weights - np.sum(weights * grad_weights))


@wrong("linear_backward", "https://github.com/kvfrans/notes/issues/5", names="bias_averaged")
def mean_for_the_bias(grad_output, cache):
    """Averages the bias's gradient over the batch."""
    grad_x, grad_weight, _ = linear_backward(grad_output, cache)
    return grad_x, grad_weight, grad_output.reshape(-1, grad_output.shape[-1]).mean(axis=0)


@wrong(
    "linear_backward",
    "https://github.com/rust0258/Deeplearning.ai-Natural-Language-Processing-Specialization/issues/62",
    names="bias_from_the_weight",
)
def bias_from_the_weights_gradient(grad_output, cache):
    """Adds up the weight's gradient to get the bias's."""
    grad_x, grad_weight, _ = linear_backward(grad_output, cache)
    return grad_x, grad_weight, grad_weight.sum(axis=0)


@wrong(
    "linear_backward",
    "https://github.com/bighuang624/Andrew-Ng-Deep-Learning-notes/issues/10",
    says="twice what it should be",
)
def twice_the_weight(grad_output, cache):
    """Doubles the weight's gradient."""
    grad_x, grad_weight, grad_bias = linear_backward(grad_output, cache)
    return grad_x, 2 * grad_weight, grad_bias


@wrong(
    "linear_backward",
    "https://github.com/marsggbo/deeplearning.ai_JupyterNotebooks/issues/14",
    says="one factor, the same for all entries",
)
def four_times_the_bias(grad_output, cache):
    """Multiplies the bias's gradient by four."""
    grad_x, grad_weight, grad_bias = linear_backward(grad_output, cache)
    return grad_x, grad_weight, 4 * grad_bias


@wrong("linear_backward", "https://github.com/flashlight/flashlight/pull/760", names="one_weight_gradient_each")
def not_summed_over_the_batch(grad_output, cache):
    """Keeps the batch axes on the weight's gradient."""
    x, weight = cache
    grad_bias = grad_output.reshape(-1, weight.shape[1]).sum(axis=0)
    return grad_output @ weight.T, transposed(x) @ grad_output, grad_bias


@wrong("linear_backward", "https://github.com/tile-ai/TileOPs/pull/54")
def nothing_transposed(grad_output, cache):
    """Multiplies by the weight and by x as they are, without a transpose."""
    x, weight = cache
    rows = grad_output.reshape(-1, weight.shape[1])
    return grad_output @ weight, x.reshape(-1, weight.shape[0]) @ rows, rows.sum(axis=0)


@wrong("attention_backward", "https://github.com/ooples/AiDotNet.Tensors/issues/49", names="queries_and_keys_exchanged")
def queries_and_keys_exchanged(grad_output, cache):
    """Swaps the gradients of queries and keys."""
    grad_queries, grad_keys, grad_values = attention_backward(grad_output, cache)
    return grad_keys, grad_queries, grad_values


@wrong("attention_backward", "https://github.com/NVIDIA/TransformerEngine/issues/1615", names="queries_unscaled")
def queries_not_scaled(grad_output, cache):
    """Leaves the scale out of the queries' gradient."""
    grad_queries, grad_keys, grad_values = attention_backward(grad_output, cache)
    return grad_queries * grad_queries.dtype.type(math.sqrt(cache[1].shape[-1])), grad_keys, grad_values


@wrong("attention_backward", "https://github.com/paiml/aprender/pull/2203", says="zero everywhere")
def severed_at_the_weights(grad_output, cache):
    """Stops at the weights: no gradient reaches queries and keys."""
    queries, keys, _, weights = cache
    return np.zeros_like(queries), np.zeros_like(keys), transposed(weights) @ grad_output


@wrong("attention_backward", "https://github.com/huggingface/diffusers/pull/14341")
def keys_transposed_twice(grad_output, cache):
    """Transposes the scores' gradient on the way to the queries, too."""
    queries, keys, values, weights = cache
    grad_scores = softmax_backward(grad_output @ transposed(values), weights) / math.sqrt(keys.shape[-1])
    return transposed(grad_scores) @ keys, transposed(grad_scores) @ queries, transposed(weights) @ grad_output


@wrong("self_attention_backward", "https://github.com/TrenTorch/TrenTorch/pull/182", names="queries_only")
def first_path_only(grad_output, cache):
    """Drops all paths to x but the first."""
    x, w_query, w_key, w_value, attention_cache = cache
    grad_queries, grad_keys, grad_values = attention_backward(grad_output, attention_cache)
    grad_x, grad_w_query, _ = linear_backward(grad_queries, (x, w_query))
    return (
        grad_x,
        grad_w_query,
        *(linear_backward(grad, (x, w))[1] for grad, w in ((grad_keys, w_key), (grad_values, w_value))),
    )


@wrong("self_attention_backward", "https://github.com/sebgao/cTensor/issues/5", names="queries_once_too_often")
def queries_path_again(grad_output, cache):
    """Adds one of the paths to x twice."""
    x, w_query, w_key, w_value, attention_cache = cache
    grads = attention_backward(grad_output, attention_cache)
    paths = [linear_backward(grad, (x, w)) for grad, w in zip(grads, (w_query, w_key, w_value), strict=True)]
    grad_x = sum(path[0] for path in [*paths, paths[0]])
    return grad_x, *(path[1] for path in paths)


@wrong("numerical_gradient", "https://github.com/apache/mxnet/issues/3693", names="forward_differences")
def forward_difference(f, x, h=1e-5):
    """Compares f(x + h) with f(x)."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        moved = x.copy()
        moved[index] += h
        gradient[index] = (f(moved) - f(x)) / h
    return gradient


@wrong("numerical_gradient", "https://github.com/BVLC/caffe/issues/6814", names="twice_too_steep")
def twice_the_slope(f, x, h=1e-5):
    """Divides a step of 2h by h."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = h
        gradient[index] = (f(x + step) - f(x - step)) / h
    return gradient


@wrong("repaired_bilinear_backward", "https://github.com/NervanaSystems/neon/issues/169", names="rows_alone")
def second_use_not_counted(grad_scores, x, a):
    """Does not add the gradient of the transposed x."""
    grad_a = transposed(x) @ grad_scores @ x
    return grad_scores @ x @ a.T, grad_a.reshape(-1, *a.shape).sum(axis=0)
