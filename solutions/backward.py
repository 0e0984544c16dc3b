"""Chapter 2, the backward pass: every gradient of attention, derived by hand and checked by numbers.

`grad_<name>` is the derivative of the loss, one scalar, with respect to the array `<name>`, and has its shape. If an
array is used several times, its gradients add up, and so do those of a weight that a batch shares.
"""

import math

import numpy as np

from solutions.attention import softmax


def numerical_gradient(f, x, h=1e-5):
    """Measure the slope of f along every entry of x, by central differences.

    Args:
        f: function of one array, returning a scalar.
        x: any shape, float64; not modified.
        h: the step. The truncation error grows as h^2, the rounding error as
            1/h: for float64 and values near 1 they meet near 1e-5.

    Returns:
        gradient: the shape of x, (f(x + h e) - f(x - h e)) / 2h for each unit
            vector e.

    Source: Taylor's theorem; derived in this chapter.
    """
    gradient = np.zeros_like(x)
    nudged = x.copy()
    for index in np.ndindex(x.shape):
        nudged[index] = x[index] + h
        above = f(nudged)
        nudged[index] = x[index] - h
        below = f(nudged)
        nudged[index] = x[index]
        gradient[index] = (above - below) / (2 * h)
    return gradient


def linear(x, weight, bias):
    """The same affine map at every position: x weight + bias.

    Args:
        x: (..., d_in)
        weight: (d_in, d_out)
        bias: (d_out,)

    Returns:
        output: (..., d_out)
        cache: (x, weight)

    Raises:
        ValueError: the last axis of x and the first of weight differ.

    Source: Vaswani et al. 2017, section 3.2.2 (the projections) and equation 2.
    """
    return x @ weight + bias, (x, weight)


def linear_backward(grad_output, cache):
    """Back through x weight + bias: all rows share both, so gradients add up.

    C = A B gives dA = dC B^T and dB = A^T dC.

    Args:
        grad_output: (..., d_out)
        cache: (x, weight) of `linear`; x: (..., d_in), weight: (d_in, d_out)

    Returns:
        grad_x: (..., d_in)
        grad_weight: (d_in, d_out)
        grad_bias: (d_out,), all three in the dtype of grad_output.

    Source: derived in this chapter.
    """
    x, weight = cache
    # All leading axes become one, so that the product with the transpose adds up over the whole batch.
    rows = x.reshape(-1, weight.shape[0])
    grad_rows = grad_output.reshape(-1, weight.shape[1])
    return (grad_rows @ weight.T).reshape(x.shape), rows.T @ grad_rows, grad_rows.sum(axis=0)


def softmax_backward(grad_weights, weights):
    """Multiply by softmax's Jacobian, diag(a) - a a^T, without building it.

    Args:
        grad_weights: (..., n)
        weights: (..., n), what softmax returned.

    Returns:
        grad_scores: (..., n), in the dtype of the weights; each row adds up
            to zero, because a number added to a whole row of scores does
            not change its softmax. A row of weights that are all zero gets
            zeros.

    Source: derived in this chapter: (diag(a) - a a^T) g = a * (g - a . g).
    """
    return weights * (grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True))


def tests_softmax_backward(function):
    """Test a function that claims to go back through a softmax.

    Args:
        function: a candidate for `softmax_backward`. It takes grad_weights
            and weights, both (..., n) and of the same dtype; each row of
            weights comes from `softmax`.

    Returns:
        verdict: True if the function keeps every promise of
            `softmax_backward`: right numbers for any number of axes, the
            dtype of the weights, and unchanged arguments. False if it
            breaks one. A failed `assert` or an exception of the function
            also counts as False; a test that ends without a `return` counts
            as True.

    Source: derived in this chapter: numerical_gradient, a random cotangent.
    """
    rng = np.random.default_rng(0)
    for shape in ((5,), (3, 4), (2, 3, 4)):
        scores, cotangent = rng.normal(size=shape), rng.normal(size=shape)
        weights = softmax(scores)
        copies = cotangent.copy(), weights.copy()
        slopes = numerical_gradient(lambda s, g=cotangent: (g * softmax(s)).sum(), scores)
        if not np.allclose(function(cotangent, weights), slopes, rtol=0, atol=1e-7):
            return False
        if not (np.array_equal(cotangent, copies[0]) and np.array_equal(weights, copies[1])):
            return False
    single = weights.astype(np.float32)
    return function(single, single).dtype == np.float32


def attention_backward(grad_output, cache):
    """Attention backwards: values, weights, scores, then queries and keys.

    Args:
        grad_output: (..., T_query, d_value)
        cache: (queries, keys, values, weights) of `attention`, or of
            chapter 3's `masked_attention`.

    Returns:
        grad_queries: (..., T_query, d_key)
        grad_keys: (..., T_key, d_key)
        grad_values: (..., T_key, d_value), all three in the dtype of
            grad_output. A query whose weights are all zero gets zeros.

    Source: derived in this chapter from Vaswani et al. 2017, equation 1.
    """
    queries, keys, values, weights = cache
    scale = 1 / math.sqrt(keys.shape[-1])
    grad_values = weights.swapaxes(-1, -2) @ grad_output
    grad_weights = grad_output @ values.swapaxes(-1, -2)
    grad_scores = softmax_backward(grad_weights, weights)
    grad_queries = grad_scores @ keys * scale
    grad_keys = grad_scores.swapaxes(-1, -2) @ queries * scale
    return grad_queries, grad_keys, grad_values


def diagnose_gradient(analytic, numeric, weights):
    """Name the slip in a backward pass of attention, and the first array with it.

    Args:
        analytic: dict of the arrays that a backward pass computed:
            grad_values, (T, d_value), grad_weights and grad_scores, (T, T),
            grad_queries and grad_keys, (T, d_key).
        numeric: the same arrays, measured, with errors up to 1e-6 of the
            largest entry.
        weights: (T, T), the softmax's weights.

    Returns:
        slip: str, a name in the table of 'Name the slip from the slopes'.
        first: str, the name of the first wrong array in the order of the
            backward pass; None if all are right.
    """
    for first in ("grad_values", "grad_weights", "grad_scores", "grad_queries", "grad_keys"):
        got, slopes = analytic[first], numeric[first]
        if not _agree(got, slopes):
            break
    else:
        return "nothing", None
    rest = np.concatenate([slopes[:-1], np.zeros_like(slopes[-1:])])
    candidates = {
        "zero": np.zeros_like(slopes),
        "sign": -slopes,
        "factor": slopes * (got * slopes).sum() / (slopes * slopes).sum(),
        "transposed": slopes.T,
        "last row left out": rest,
        "diagonal Jacobian": weights * numeric["grad_weights"],
    }
    return next(slip for slip, candidate in candidates.items() if _agree(got, candidate)), first


def _agree(one, other):
    return one.shape == other.shape and np.abs(one - other).max() <= 1e-4 * np.abs(other).max()


def self_attention_backward(grad_output, cache):
    """Back through attention, then through the three projections of x.

    Args:
        grad_output: (..., T, d_value)
        cache: (x, w_query, w_key, w_value, attention_cache) of
            `self_attention`.

    Returns:
        grad_x: (..., T, d_model)
        grad_w_query: (d_model, d_key)
        grad_w_key: (d_model, d_key)
        grad_w_value: (d_model, d_value), all four in the dtype of
            grad_output.

    Source: derived in this chapter from Vaswani et al. 2017, section 3.2.3.
    """
    x, w_query, w_key, w_value, attention_cache = cache
    grad_queries, grad_keys, grad_values = attention_backward(grad_output, attention_cache)
    x_from_queries, grad_w_query, _ = linear_backward(grad_queries, (x, w_query))
    x_from_keys, grad_w_key, _ = linear_backward(grad_keys, (x, w_key))
    x_from_values, grad_w_value, _ = linear_backward(grad_values, (x, w_value))
    # x went three ways, so three gradients come back to it.
    return x_from_queries + x_from_keys + x_from_values, grad_w_query, grad_w_key, grad_w_value


def repaired_bilinear_backward(grad_scores, x, a):
    """The gradients of scores = x a x^T, where x occurs twice: row and column.

    Args:
        grad_scores: (..., T, T)
        x: (..., T, d_model)
        a: (d_model, d_model), one matrix for the whole batch; not symmetric.

    Returns:
        grad_x: (..., T, d_model)
        grad_a: (d_model, d_model), both in the dtype of x.

    Source: derived in this chapter, entry by entry.
    """
    as_rows = grad_scores @ x @ a.T
    as_columns = grad_scores.swapaxes(-1, -2) @ x @ a
    grad_a = x.swapaxes(-1, -2) @ grad_scores @ x
    return as_rows + as_columns, grad_a.reshape(-1, *a.shape).sum(axis=0)
