"""Wrong answers to chapter 1, attention."""

import math

import numpy as np

from solutions.attention import attention_weights, scaled_scores, softmax
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


@wrong(
    "attention_weights",
    "https://github.com/nerminnuraydogan/vision-transformer/issues/1",
    names="softmax.over_axis_one",
)
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


def softmax_along(scores, axis):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@wrong("softmax", "https://github.com/sonos/tract/pull/2586", says="has the right proportions along")
def sum_in_half_precision(scores):
    """Adds the exponentials up in float16."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.astype(np.float16).sum(axis=-1, keepdims=True).astype(scores.dtype)


@wrong("softmax", "https://github.com/open-edge-platform/geti/pull/1507", names="a_little_more_0.001")
def small_number_below_the_fraction(scores):
    """Adds a small number to the sum, so that rows do not add up to one."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / (exponentials.sum(axis=-1, keepdims=True) + scores.dtype.type(1e-3))


@wrong("attention_weights", "https://github.com/FudanNLP/fastNLP/issues/254", says="Axes counted from the end")
def axis_counted_from_the_front(queries, keys):
    """The softmax runs along axis 2, which is the last of three axes only."""
    return softmax_along(scaled_scores(queries, keys), 2)


@wrong("attention_weights", "https://github.com/HsiaoYetGun/ESIM/issues/5", names="softmax.over_the_batch")
def transpose_of_all_axes(queries, keys):
    """Transposes all axes before the softmax and after it, so that it runs along the first axis."""
    return softmax(scaled_scores(queries, keys).T).T


@wrong("attention_weights", "https://github.com/DEEP-PolyU/KEQA_WSDM19/issues/2", says="is the same number everywhere")
def softmax_of_single_scores(queries, keys):
    """Gives each score an axis of its own, so that every weight is one."""
    return softmax(scaled_scores(queries, keys)[..., None])[..., 0]


@wrong("attention_weights", "https://github.com/openai/guided-diffusion/issues/38", says="a division left out")
def fourth_root(queries, keys):
    """Divides by the fourth root of d_key once, where both factors need it."""
    return softmax(queries @ keys.swapaxes(-1, -2) / keys.shape[-1] ** 0.25)


@wrong("attention", "https://github.com/ok1zjf/VASNet/issues/25", names="weights_transposed")
def sum_over_the_queries(queries, keys, values):
    """Sums over the queries in the last product, because the weights are transposed."""
    weights = attention_weights(queries, keys)
    return weights.swapaxes(-1, -2) @ values, (queries, keys, values, weights)


@wrong("attention", "https://github.com/awf/functional-transformer/issues/8", names="softmax.over_axis_one")
def factor_before_the_mean(queries, keys, values):
    """The softmax runs along axis 1, whatever the number of axes."""
    weights = softmax_along(scaled_scores(queries, keys), 1)
    return weights @ values, (queries, keys, values, weights)


@wrong("attention", "https://github.com/Open-Deep-ML/DML-OpenProblem/issues/424", names="weights_transposed")
def weights_turned(queries, keys, values):
    """Multiplies the transposed weights by the values."""
    weights = attention_weights(queries, keys)
    return weights.swapaxes(-1, -2) @ values, (queries, keys, values, weights)
