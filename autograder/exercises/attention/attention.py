import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.attention.attention_weights import (
    by_einsum,
    first_two_axes_exchanged,
    naive_softmax,
    promoted,
    unscaled,
    widths_broadcast,
)
from autograder.exercises.attention.shared import roles, scores_of, unequal, without
from solutions import attention as reference

attention = Exercise(
    reference.attention, outputs={"output": "... T_query d_value", "cache": UNJUDGED}, section="From weights to output"
)
wrong = short_mistakes(attention)


@attention.cases("the idea", points=2)
def _(draw):
    yield "one sentence", roles(draw)
    square = {name: draw.normal(3, 3) for name in ("queries", "keys", "values")}
    yield "all sizes agree", square
    yield "all sizes but d_value agree", square | {"values": draw.normal(3, 2)}


@attention.cases("batches", points=1)
def _(draw):
    yield "one batch axis", roles(draw, 1)
    yield "two batch axes", roles(draw, 2)


@attention.cases("stability, float32 and edge cases", points=1)
def _(draw):
    inputs = roles(draw, 1)
    yield "scores in the thousands", inputs | {"queries": 100 * inputs["queries"], "keys": 100 * inputs["keys"]}
    yield "float32", roles(draw, 1, dtype=np.float32)
    for size in ("T_query", "T_key", "d_key"):
        yield f"{size} = 1", without(roles(draw, 1), size)
    inputs = roles(draw)
    yield "d_value = 1", inputs | {"values": inputs["values"][:, :1]}
    yield "unequal d_key", inputs | {"queries": draw.normal(3, inputs["keys"].shape[-1] + 1)}
    for whose, narrow in (("queries", True), ("keys", False)):
        pair = unequal(draw, narrow)
        values = draw.normal(len(pair["keys"]), draw.size())
        yield f"unequal d_key, that of the {whose} is 1", pair | {"values": values}


wrong("weights_only", lambda queries, keys, values: (reference.attention_weights(queries, keys), None))("""
    ignores the values
    You return the weights. They say *where* each query looks. The output is *what it finds* there, the weighted average
    of the values.""")
wrong("keys_handed_over", lambda queries, keys, values: (reference.attention_weights(queries, keys) @ keys, None))("""
    averages the keys instead of the values -> Why keys exist at all
    The weights are right, but you average the keys with them. A query finds an entry by its key, but the entry hands
    over its value.""")


@attention.mistake("averages all values alike")
def plain_average(queries, keys, values):
    """Every row of the output is the plain average of the values, whatever the query asks. The weights must come
    from the queries and the keys."""
    shape = (*queries.shape[:-1], values.shape[-1])
    return np.broadcast_to(values.mean(axis=-2, keepdims=True), shape).copy(), None


def weighed(queries, keys, values, *, weigh):
    """Average the values with the weights that a function of queries and keys returns."""
    return weigh(queries, keys) @ values, None


wrong("keys_ask_for_values", weighed, weigh=lambda queries, keys: reference.attention_weights(keys, queries))("""
    swaps queries and keys -> All queries at once
    You swap queries and keys. If there are as many queries as keys, only the numbers are wrong; otherwise weights
    and values do not fit. Each row of the weights belongs to a query: (..., T_query, T_key) times (..., T_key,
    d_value).""")
wrong("weights_transposed", weighed, weigh=lambda *inputs: reference.attention_weights(*inputs).swapaxes(-1, -2))("""
    transposes the weights
    You transpose the weights before you multiply them by the values, so an output row uses the weights that all queries
    give to one key. Row i of the weights averages the values for query i, so use the weights as they are.""")


@attention.mistake("scales by the width of the values", reread="Why divide by the square root of the key width")
def by_d_value(queries, keys, values):
    """You divide by the root of d_value. A score is a sum of d_key products, in which the values do not occur."""
    return reference.softmax(scores_of(queries, keys) / math.sqrt(values.shape[-1])) @ values, None


wrong(
    "output_scaled", lambda queries, keys, values: (unscaled(queries, keys) @ values / math.sqrt(keys.shape[-1]), None)
)("""
    scales the output, not the scores -> Why divide by the square root of the key width
    The division by the root of d_key comes last, on the output: it only shrinks the average, after the softmax has
    already seen the large scores.""")
wrong("overflows", weighed, weigh=naive_softmax)("""
    overflows on large scores -> From scores to weights: the softmax
    Your output is right for small scores and NaN for large ones, because the softmax in your function does not subtract
    each row's maximum. Call your `attention_weights`.""")
wrong("promoted_attention", weighed, weigh=promoted)("""
    promotes float32 to float64
    float32 came back as float64. `np.sqrt(d_key)` is a float64 *NumPy* scalar and promotes every array it touches;
    `math.sqrt(d_key)` is a plain Python number and promotes nothing.""")
wrong("stretched", weighed, weigh=widths_broadcast)("""
    lets a d_key of 1 pass for any other -> Why queries and keys share a dimension
    Queries and keys of different widths have no dot product. `einsum` and an entry-by-entry product broadcast a width
    of 1 to any other and return numbers anyway. Let your `attention_weights` raise a ValueError.""")
wrong("front_axes_exchanged", weighed, weigh=first_two_axes_exchanged)("""
    exchanges the first two axes of the keys -> Batch axes
    You swap the first two axes of the keys, as `keys.swapaxes(0, 1)` does. For one sentence that is the transpose; with
    a batch, it mixes the batch with the words. Count from the end: `keys.swapaxes(-1, -2)`.""")


@attention.mistake("lets the sentences of a batch see each other", reread="Batch axes")
def batch_flattened(queries, keys, values):
    """You flatten the batch into one long sequence, so words attend to words of *other* sentences. Compute the scores
    for each sentence separately."""
    flat = (array.reshape(-1, array.shape[-1]) for array in (queries, keys, values))
    return reference.attention(*flat)[0].reshape(*queries.shape[:-1], -1), None


wrong("keys_for_values", lambda queries, keys, values: reference.attention(queries, values, keys))("""
    exchanges keys and values -> Why keys exist at all
    You compare the queries with the values, and average the keys. Swap keys and values: a query finds an entry by its
    key, and the entry hands over its value. If d_value = d_key, only the numbers are wrong.""")


@attention.equivalent
def query_by_query(queries, keys, values):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("d_key differs")
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for i in range(queries.shape[-2]):
        scores = (queries[..., i : i + 1, :] * keys).sum(axis=-1) / math.sqrt(keys.shape[-1])
        output[..., i, :] = (reference.softmax(scores)[..., None] * values).sum(axis=-2)
    return output, None


@attention.equivalent
def attention_by_einsum(queries, keys, values):
    weights = by_einsum(queries, keys)
    return np.einsum("...ij,...jv->...iv", weights, values), (queries, keys, values, weights)


@attention.equivalent
def divided_at_the_end(queries, keys, values):
    scores = scores_of(queries, keys) / math.sqrt(keys.shape[-1])
    strengths = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return [strengths @ values / strengths.sum(axis=-1, keepdims=True), {"weights": None}]


@attention.equivalent
def key_by_key(queries, keys, values):
    """Make one pass over the keys with a running maximum, as fused kernels do."""
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError("d_key differs")
    highest = np.full((*queries.shape[:-1], 1), -np.inf, queries.dtype)
    total = np.zeros_like(highest)
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for j in range(keys.shape[-2]):
        score = (queries * keys[..., j : j + 1, :]).sum(axis=-1, keepdims=True) / math.sqrt(keys.shape[-1])
        higher = np.maximum(highest, score)
        shrink, strength = np.exp(highest - higher), np.exp(score - higher)
        output = shrink * output + strength * values[..., j : j + 1, :]
        highest, total = higher, shrink * total + strength
    return output / total, None
