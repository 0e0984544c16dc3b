"""Wrong answers to the exercises of chapters 2 and 3."""

import numpy as np

from solutions.attention import scaled_scores
from solutions.masking import causal_mask, padding_mask
from tests.explanations.registry import wrong


def attend(queries, keys, values, size, causal, step):
    """Attention in blocks. step: makes (maximum, sum, output) from the old ones, the scores and the values."""
    state = -np.inf, 0, 0
    for start in range(0, keys.shape[-2], size):
        scores = scaled_scores(queries, keys[..., start : start + size, :])
        if causal:
            positions = np.arange(start, start + scores.shape[-1])
            scores = np.where(positions <= np.arange(scores.shape[-2])[:, None], scores, -np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            state = step(*state, scores, values[..., start : start + size, :])
    top, total, output = state
    return (output / total).astype(values.dtype), (top + np.log(total)).astype(values.dtype)


@wrong("streaming_attention", names="corrected_upside_down")
def grows_instead_of_shrinking(queries, keys, values, size, causal=False):
    def step(top, total, output, scores, values):
        new = np.maximum(top, scores.max(-1, keepdims=True))
        factor, strengths = np.exp(new - top), np.exp(scores - new)
        return new, total * factor + strengths.sum(-1, keepdims=True), output * factor + strengths @ values

    return attend(queries, keys, values, size, causal, step)


@wrong("streaming_attention", names="maximum_of_the_block")
def forgets_the_old_maximum(queries, keys, values, size, causal=False):
    def step(top, total, output, scores, values):
        own = scores.max(-1, keepdims=True)
        factor, strengths = np.exp(top - own), np.exp(scores - own)
        return own, total * factor + strengths.sum(-1, keepdims=True), output * factor + strengths @ values

    return attend(queries, keys, values, size, causal, step)


@wrong("streaming_attention", names="block_not_corrected")
def adds_the_block_as_it_is(queries, keys, values, size, causal=False):
    def step(top, total, output, scores, values):
        own = scores.max(-1, keepdims=True)
        new = np.maximum(top, own)
        strengths = np.exp(scores - np.where(np.isinf(own), 0, own))
        factor = np.exp(top - new)
        return new, total * factor + strengths.sum(-1, keepdims=True), output * factor + strengths @ values

    return attend(queries, keys, values, size, causal, step)


@wrong("target_mask", names="causal_in_the_number_of_sentences")
def length_of_the_batch(tokens, pad):
    return causal_mask(len(tokens)) & padding_mask(tokens, pad)


@wrong("linear_backward", names="bias_one_sum_everywhere")
def bias_of_one_number(grad_output, cache):
    x, weight = cache
    rows, grad_rows = x.reshape(-1, x.shape[-1]), grad_output.reshape(-1, grad_output.shape[-1])
    return grad_output @ weight.T, rows.T @ grad_rows, np.ones_like(weight[0]) * grad_output.sum()


@wrong("linear_backward", names="all_averaged")
def mean_over_the_rows(grad_output, cache):
    x, weight = cache
    rows, grad_rows = x.reshape(-1, x.shape[-1]), grad_output.reshape(-1, grad_output.shape[-1])
    grad_rows = grad_rows / len(rows)
    return (grad_rows @ weight.T).reshape(x.shape), rows.T @ grad_rows, grad_rows.sum(axis=0)


@wrong("numerical_gradient", names="divided_by_the_count")
def mean_of_slopes(f, x, h=1e-5):
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = h
        gradient[index] = (f(x + step) - f(x - step)) / (2 * h * x.size)
    return gradient


@wrong("softmax_backward", names="one_sum_in_every_entry")
def the_same_for_each_score(grad_weights, weights):
    products = weights * grad_weights
    return np.zeros_like(products) + products.sum(axis=-1, keepdims=True)


@wrong("softmax_backward", names="divided_by_the_length")
def mean_over_the_row(grad_weights, weights):
    inner = (weights * grad_weights).sum(axis=-1, keepdims=True)
    return weights * (grad_weights - inner) / weights.shape[-1]
