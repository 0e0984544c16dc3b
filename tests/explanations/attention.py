"""Wrong answers to chapter 1, attention."""

import math

import numpy as np

from solutions.attention import attention, scaled_scores
from solutions.attention import softmax as row_softmax
from tests.explanations.registry import wrong


def transposed(keys):
    return np.swapaxes(keys, -1, -2)


@wrong(
    "softmax",
    "https://stackoverflow.com/questions/34968722/how-to-implement-the-softmax-function-in-python",
    names="over_everything",
)
def one_sum_for_all(scores):
    """One maximum and one sum for the whole array, as if it were a single row."""
    powers = np.exp(scores - np.max(scores))
    return powers / powers.sum()


@wrong(
    "softmax",
    "https://stackoverflow.com/questions/45817372/python-command-np-sumx-axis-0-and-softmax-function",
    names="over_the_batch overflowing",
)
def sum_over_axis_zero(scores):
    """Sums along the first axis, and subtracts no maximum."""
    return np.exp(scores) / np.sum(np.exp(scores), axis=0)


@wrong("softmax", "https://github.com/FluxML/NNlib.jl/pull/43", names="zero_or_the_maximum")
def maximum_not_below_zero(scores):
    """Subtracts the larger of 0 and the row's maximum, so that rows far below zero become 0 / 0."""
    top = np.maximum(scores.max(axis=-1, keepdims=True), 0)
    powers = np.exp(scores - top)
    return powers / powers.sum(axis=-1, keepdims=True)


@wrong("softmax", "https://github.com/open-edge-platform/geti/pull/1507")
def shares_infinities(scores):
    """Subtracts no maximum, and gives equal shares to the entries that overflow."""
    powers = np.exp(scores)
    infinite = np.isinf(powers)
    shares = infinite / np.maximum(infinite.sum(axis=-1, keepdims=True), 1)
    total = powers.sum(axis=-1, keepdims=True)
    return np.where(infinite.any(axis=-1, keepdims=True), shares, powers / total).astype(scores.dtype)


@wrong("softmax", "https://github.com/manassharma07/crysx_nn/issues/7", names="one_maximum_for_all")
def maximum_of_the_whole_batch(scores):
    """The maximum is that of the whole array, and rows far below it underflow to 0 / 0."""
    powers = np.exp(scores - scores.max())
    return powers / powers.sum(axis=-1, keepdims=True)


@wrong("softmax", "https://github.com/jhcross/span-parser/issues/2", names="overflowing")
def no_maximum(scores):
    """Exponentials of the scores as they are, which overflow."""
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


@wrong("attention_weights", "https://github.com/PetrochukM/PyTorch-NLP/issues/2")
def softmax_over_folded_rows(queries, keys):
    """Folds batch and queries into one axis and lets the softmax run along it."""
    scores = scaled_scores(queries, keys)
    rows = scores.reshape(-1, scores.shape[-1])
    powers = np.exp(rows - rows.max(axis=0))
    return (powers / powers.sum(axis=0)).reshape(scores.shape)


@wrong("attention_weights", "https://github.com/delzac/cntkx/issues/10", names="unscaled")
def scale_left_out(queries, keys):
    """Leaves out the root of d_key."""
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return row_softmax(queries @ transposed(keys))


@wrong("attention_weights", "https://github.com/esceptico/perceiver-io/issues/9", names="scaled_up")
def divides_by_an_inverse(queries, keys):
    """Stores 1 / sqrt(d_key) and divides by it."""
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    scale = keys.shape[-1] ** -0.5
    return row_softmax(queries @ transposed(keys) / scale)


@wrong("attention_weights", "https://github.com/nerminnuraydogan/vision-transformer/issues/1", names="keys_on_axis_one")
def softmax_along_axis_one(queries, keys):
    """The softmax runs along axis 1, the queries of a batch."""
    scores = scaled_scores(queries, keys)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@wrong("attention", "https://github.com/openai/gpt-2/issues/49", names="by_d_value")
def root_of_the_values_width(queries, keys, values):
    """Divides by the root of the values' width, not of the keys'."""
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    weights = row_softmax(queries @ transposed(keys) / math.sqrt(values.shape[-1]))
    return weights @ values, (queries, keys, values, weights)


@wrong(
    "attention", "https://github.com/fchollet/deep-learning-with-python-notebooks/issues/261", names="keys_handed_over"
)
def keys_in_place_of_values(queries, keys, values):
    """Averages the keys."""
    weights = row_softmax(scaled_scores(queries, keys))
    return weights @ keys, (queries, keys, values, weights)


@wrong("attention", "https://github.com/alecwangcq/show-attend-and-tell/issues/6")
def sums_over_features(queries, keys, values):
    """Sums the weighted values over their features, not over the keys."""
    weights = row_softmax(scaled_scores(queries, keys))
    weighted = weights[..., None] * values[..., None, :, :]
    return weighted.sum(axis=-1), (queries, keys, values, weights)


@wrong("self_attention", "https://github.com/Graylab/DL4Proteins-notebooks/issues/12", names="by_d_model")
def root_of_the_embedding(x, w_query, w_key, w_value):
    """Divides by the root of the embedding's width, not of the head's."""
    if w_query.shape[-1] != w_key.shape[-1]:
        raise ValueError
    scores = (x @ w_query) @ transposed(x @ w_key) * x.shape[-1] ** -0.5
    return row_softmax(scores) @ (x @ w_value), None


@wrong("self_attention", "https://github.com/yflyzhang/AnnotatedTransformer/issues/1", names="values_from_w_key")
def values_from_the_key_matrix(x, w_query, w_key, w_value):
    """Projects the values with the keys' matrix."""
    return attention(x @ w_query, x @ w_key, x @ w_key)
