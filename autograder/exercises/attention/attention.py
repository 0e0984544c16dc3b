"""attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.attention.attention_weights import (
    batch_competes,
    by_cosine,
    by_d_key,
    by_distance,
    by_einsum,
    by_number_of_keys,
    by_scaled_cosine,
    by_scaled_distance,
    by_scaled_squared_distance,
    by_squared_distance,
    columns_add_up,
    first_two_axes_exchanged,
    keys_on_axis_one,
    naive_softmax,
    promoted,
    raw_scores,
    scaled_up,
    softmax_twice,
    unscaled,
    widths_broadcast,
)
from autograder.exercises.attention.shared import roles, scores_of, unequal, without
from solutions import attention as reference

attention = Exercise(
    reference.attention,
    outputs={
        "output": "... T_query d_value",
        "cache": UNJUDGED,
    },
    section="From weights to output",
    uses=("attention_weights",),
)


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


@attention.mistake("ignores the values")
def weights_only(queries, keys, values):
    """This returns the weights. They say *where* each query looks; the output is *what it finds* there, the weighted
    average of the values."""
    return reference.attention_weights(queries, keys), None


@attention.mistake("averages the keys instead of the values", reread="Why keys exist at all")
def keys_handed_over(queries, keys, values):
    """The right weights, on the wrong things: you average the keys. A query finds an entry by its key, and the entry
    hands over its value."""
    return reference.attention_weights(queries, keys) @ keys, None


@attention.mistake("averages with the scaled scores", reread="From scores to weights: the softmax")
def no_softmax(queries, keys, values):
    """The values are multiplied by the scaled scores. Those may be negative and do not add up to one, so the output is
    not an average. The softmax is missing."""
    return raw_scores(queries, keys) @ values, None


@attention.mistake("averages all values alike")
def plain_average(queries, keys, values):
    """Every row of the output is the plain average of the values, whatever the query asks. The weights must come
    from the queries and the keys."""
    shape = (*queries.shape[:-1], values.shape[-1])
    return np.broadcast_to(values.mean(axis=-2, keepdims=True), shape).copy(), None


@attention.mistake("swaps queries and keys", reread="All queries at once")
def keys_ask_for_values(queries, keys, values):
    """The keys ask, and the queries are what is found. As long as there are as many queries as keys, only the
    numbers are wrong; otherwise weights and values do not fit. Queries ask: (..., T_query, T_key) times (..., T_key,
    d_value)."""
    return reference.attention_weights(keys, queries) @ values, None


@attention.mistake("transposes the weights")
def weights_transposed(queries, keys, values):
    """The weights are transposed before they are multiplied by the values, so an output row uses the weights that all
    queries give to one key. Row i of the weights averages the values for query i: no transpose."""
    return reference.attention_weights(queries, keys).swapaxes(-1, -2) @ values, None


@attention.mistake("scales by the width of the values", reread="Why divide by the square root of the key width")
def by_d_value(queries, keys, values):
    """You divide by the root of d_value. A score is a sum of d_key products, and the values have no part in it."""
    return reference.softmax(scores_of(queries, keys) / math.sqrt(values.shape[-1])) @ values, None


@attention.mistake("does not scale the scores", reread="Why divide by the square root of the key width")
def unscaled_attention(queries, keys, values):
    """The division by the square root of d_key is missing: call your `attention_weights`."""
    return unscaled(queries, keys) @ values, None


@attention.mistake(
    "multiplies by the root of d_key instead of dividing", reread="Why divide by the square root of the key width"
)
def scores_multiplied(queries, keys, values):
    """The scores are multiplied by the square root of d_key, or divided by d_key ** -0.5, which is the same: one weight
    takes nearly everything. Divide by the root."""
    return scaled_up(queries, keys) @ values, None


@attention.mistake("divides by d_key, not by its root", reread="Why divide by the square root of the key width")
def divided_by_d_key(queries, keys, values):
    """You divide the scores by d_key, or twice by its root, which is the same. Their spread grows like the root, so the
    weights become too even: divide once, by the square root."""
    return by_d_key(queries, keys) @ values, None


@attention.mistake("scales by the number of keys", reread="Why divide by the square root of the key width")
def by_T_key(queries, keys, values):
    """You divide by the root of the number of keys, keys.shape[-2]. A score is a sum of d_key products, and d_key is
    keys.shape[-1]."""
    return by_number_of_keys(queries, keys) @ values, None


@attention.mistake("scales the output, not the scores", reread="Why divide by the square root of the key width")
def output_scaled(queries, keys, values):
    """The division by the root of d_key comes last, on the output: it only shrinks the average, and the softmax has
    seen the large scores already."""
    return unscaled(queries, keys) @ values / math.sqrt(keys.shape[-1]), None


@attention.mistake("compares by the cosine", reread="All queries at once")
def attended_by_cosine(queries, keys, values):
    """The scores are cosines: each product is divided by the lengths of query and key. A score is the plain dot product
    over the square root of d_key: call your `attention_weights`."""
    return by_cosine(queries, keys) @ values, None


@attention.mistake("compares by the distance", reread="All queries at once")
def attended_by_distance(queries, keys, values):
    """The scores are distances with a minus sign. A score is the dot product of query and key over the square root of
    d_key: call your `attention_weights`."""
    return by_distance(queries, keys) @ values, None


@attention.mistake("compares by the squared distance", reread="All queries at once")
def attended_by_squared_distance(queries, keys, values):
    """The scores are squared distances with a minus sign. A score is the dot product of query and key over the square
    root of d_key: call your `attention_weights`."""
    return by_squared_distance(queries, keys) @ values, None


@attention.mistake("compares by the cosine, and divides by the root of d_key", reread="All queries at once")
def attended_by_scaled_cosine(queries, keys, values):
    """You divide by the root of d_key, but you divide cosines. A score is the dot product itself over the root of
    d_key: call your `attention_weights`."""
    return by_scaled_cosine(queries, keys) @ values, None


@attention.mistake("compares by the distance, and divides by the root of d_key", reread="All queries at once")
def attended_by_scaled_distance(queries, keys, values):
    """You divide by the root of d_key, but you divide distances with a minus sign. A score is the dot product of query
    and key over the root of d_key: call your `attention_weights`."""
    return by_scaled_distance(queries, keys) @ values, None


@attention.mistake("compares by the squared distance, and divides by the root of d_key", reread="All queries at once")
def attended_by_scaled_squared_distance(queries, keys, values):
    """You divide by the root of d_key, but you divide squared distances with a minus sign. A score is the dot product
    of query and key over the root of d_key: call your `attention_weights`."""
    return by_scaled_squared_distance(queries, keys) @ values, None


@attention.mistake("normalises over the queries", reread="All queries at once")
def queries_compete(queries, keys, values):
    """The softmax runs down the columns, so the queries compete for each key, and an output is not an average. Each
    query shares out one unit among the keys: softmax along the last axis."""
    return columns_add_up(queries, keys) @ values, None


@attention.mistake("normalises over the batch", reread="Batch axes")
def sentences_compete(queries, keys, values):
    """The softmax runs along the first axis: with a batch, its sentences compete for attention; without one, the
    queries do. The keys are the last axis, -1."""
    return batch_competes(queries, keys) @ values, None


@attention.mistake("normalises along axis 1", reread="Batch axes")
def along_axis_one(queries, keys, values):
    """The softmax runs along axis 1, counted from the front: the keys' axis of one sentence, but not of a batch. Count
    from the end: the keys are axis -1."""
    return keys_on_axis_one(queries, keys) @ values, None


@attention.mistake("overflows on large scores", reread="From scores to weights: the softmax")
def overflows(queries, keys, values):
    """Right for small scores, NaN for large ones, because the softmax in your function does not subtract each row's
    maximum. Call your `attention_weights`."""
    return naive_softmax(queries, keys) @ values, None


@attention.mistake("promotes float32 to float64")
def promoted_attention(queries, keys, values):
    """float32 came back as float64. `np.sqrt(d_key)` is a float64 *NumPy* scalar and promotes every array it touches;
    `math.sqrt(d_key)` is a plain Python number and promotes nothing."""
    return promoted(queries, keys) @ values, None


@attention.mistake("lets a d_key of 1 pass for any other", reread="Why queries and keys share a dimension")
def stretched(queries, keys, values):
    """Queries and keys of different widths have no dot product. `einsum` and an entry-by-entry product broadcast a
    width of 1 to any other and return numbers anyway. Let your `attention_weights` raise a ValueError."""
    return widths_broadcast(queries, keys) @ values, None


@attention.mistake("exchanges the first two axes of the keys", reread="Batch axes")
def front_axes_exchanged(queries, keys, values):
    """The first two axes of the keys are swapped, as `keys.swapaxes(0, 1)` does. For one sentence that is the
    transpose; with a batch, it mixes the batch with the words. Count from the end: `keys.swapaxes(-1, -2)`."""
    return first_two_axes_exchanged(queries, keys) @ values, None


@attention.mistake("exchanges keys and values", reread="Why keys exist at all")
def keys_for_values(queries, keys, values):
    """The queries are compared with the values, and the keys are averaged. It is the other way round: a query finds an
    entry by its key, and the entry hands over its value. If d_value = d_key, only the numbers are wrong."""
    return reference.attention(queries, values, keys)


@attention.mistake("applies the softmax twice", reread="From scores to weights: the softmax")
def weighed_twice(queries, keys, values):
    """The weights go through a softmax once more. They lie between 0 and 1, so they come out nearly even, whatever the
    query asks: apply one softmax, to the scores."""
    return softmax_twice(queries, keys) @ values, None


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
    """One pass over the keys with a running maximum, as fused kernels do it."""
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
