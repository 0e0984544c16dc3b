"""self_attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.attention.attention import attention_by_einsum
from autograder.exercises.attention.attention_weights import (
    batch_competes,
    by_d_key,
    columns_add_up,
    first_two_axes_exchanged,
    keys_on_axis_one,
    naive_softmax,
    promoted,
    scaled_up,
    softmax_twice,
    unscaled,
    widths_broadcast,
)
from autograder.exercises.attention.shared import scores_of, steep
from solutions import attention as reference

self_attention = Exercise(
    reference.self_attention,
    outputs={"output": "... T d_value", "cache": UNJUDGED},
    section="Self-attention: one sequence in three roles",
    uses=("attention",),
)


def layer(draw, n_batch_axes=0, dtype=np.float64):
    """A sequence and its three projections, no two sizes alike."""
    T, d_model, d_key, d_value, *batch = draw.sizes(4 + n_batch_axes)
    return {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "w_query": draw.normal(d_model, d_key, dtype=dtype),
        "w_key": draw.normal(d_model, d_key, dtype=dtype),
        "w_value": draw.normal(d_model, d_value, dtype=dtype),
    }


@self_attention.cases("the idea", points=1)
def _(draw):
    yield "one sentence", layer(draw)
    square = {name: draw.normal(3, 3) for name in ("w_query", "w_key", "w_value")}
    yield "square projections", {"x": draw.normal(4, 3)} | square


@self_attention.cases("batches", points=1)
def _(draw):
    yield "one batch axis", layer(draw, 1)
    yield "two batch axes", layer(draw, 2)


@self_attention.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", layer(draw, 1, dtype=np.float32)
    inputs = layer(draw, 1)
    yield "one token", inputs | {"x": inputs["x"][:, :1]}
    inputs = layer(draw)
    yield "d_key = 1", inputs | {"w_query": inputs["w_query"][:, :1], "w_key": inputs["w_key"][:, :1]}
    d_model, d_key = inputs["w_key"].shape
    yield "unequal d_key", inputs | {"w_query": draw.normal(d_model, d_key + 1)}
    yield "unequal d_key, one of them is 1", inputs | {"w_query": draw.normal(d_model, 1)}
    inputs = layer(draw)
    scores = scores_of(inputs["x"] @ inputs["w_query"], inputs["x"] @ inputs["w_key"])
    beyond_the_mean = scores - scores.mean(axis=-1, keepdims=True)
    inputs |= {"w_query": steep(inputs["w_query"], beyond_the_mean, 10_000)}
    yield "scores in the thousands", inputs
    yield "sentences with scores of very different size", inputs | {"x": np.stack([inputs["x"], inputs["x"] / 100])}


@self_attention.mistake("scales by the root of d_model", reread="Why divide by the square root of the key width")
def by_d_model(x, w_query, w_key, w_value):
    """You divide by the root of d_model, the width of x. The score is taken after the projection, between vectors of
    width d_key; when d_key is smaller than d_model, your weights are too flat."""
    scores = scores_of(x @ w_query, x @ w_key) / math.sqrt(x.shape[-1])
    return reference.softmax(scores) @ (x @ w_value), None


@self_attention.mistake("does not scale the scores", reread="Why divide by the square root of the key width")
def projected_unscaled(x, w_query, w_key, w_value):
    """The division by the square root of d_key, the width of the projected keys, is missing: call your `attention`."""
    return unscaled(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake(
    "multiplies by the root of d_key instead of dividing", reread="Why divide by the square root of the key width"
)
def projected_scaled_up(x, w_query, w_key, w_value):
    """The scores are multiplied by the square root of d_key, or divided by d_key ** -0.5, which is the same. Divide by
    the root: call your `attention`."""
    return scaled_up(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake("divides by d_key, not by its root", reread="Why divide by the square root of the key width")
def projected_by_d_key(x, w_query, w_key, w_value):
    """You divide the scores by d_key, or twice by its root, which is the same. Call your `attention` with queries and
    keys as they are: it divides by the root."""
    return by_d_key(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake("transposes the weights", reread="From weights to output")
def weights_transposed(x, w_query, w_key, w_value):
    """You multiply the values by the transposed weights, so that what a position gives takes the place of what it gets.
    Row i of the weights belongs to query i: multiply the weights by the values as they are."""
    _, (*_, weights) = reference.attention(x @ w_query, x @ w_key, x @ w_value)
    return weights.swapaxes(-1, -2) @ (x @ w_value), None


@self_attention.mistake("makes the keys with the query's projection", reread="Why keys exist at all")
def one_projection_for_both(x, w_query, w_key, w_value):
    """`w_query` makes both the queries and the keys, so the scores are symmetric: two words always find each other
    equally strongly, and every word tends to find itself. The keys have a matrix of their own, `w_key`."""
    return reference.attention(x @ w_query, x @ w_query, x @ w_value)


@self_attention.mistake("makes the queries with the key's projection", reread="Why keys exist at all")
def asked_with_the_keys(x, w_query, w_key, w_value):
    """`w_key` makes both the keys and the queries, so `w_query` has no effect and the scores are symmetric: two words
    always find each other equally strongly. What a word asks for has a matrix of its own, `w_query`."""
    return reference.attention(x @ w_key, x @ w_key, x @ w_value)


@self_attention.mistake("makes the values with the key's projection")
def values_from_w_key(x, w_query, w_key, w_value):
    """`w_key` makes both the keys and the values, so `w_value` has no effect, and the output is as wide as a key. A
    word is found by its key and hands over its value. These are two things, each with a matrix of its own."""
    return reference.attention(x @ w_query, x @ w_key, x @ w_key)


@self_attention.mistake("makes the values with the query's projection")
def values_from_w_query(x, w_query, w_key, w_value):
    """`w_query` makes both the queries and the values, so `w_value` has no effect, and the output is as wide as a
    query. What a word asks for and what it hands over are two things, each with a matrix of its own."""
    return reference.attention(x @ w_query, x @ w_key, x @ w_query)


@self_attention.mistake("swaps the projections of queries and keys")
def roles_swapped(x, w_query, w_key, w_value):
    """`w_key` makes your queries and `w_query` your keys. The shapes cannot show it, since both are (d_model, d_key).
    With weights learnt elsewhere, every score would be transposed: the words that should ask are found instead."""
    return reference.attention(x @ w_key, x @ w_query, x @ w_value)


@self_attention.mistake("averages x itself")
def values_not_projected(x, w_query, w_key, w_value):
    """The weights average x, so `w_value` has no effect and the output is d_model wide. What a word hands over is
    its value, x @ w_value."""
    return reference.attention(x @ w_query, x @ w_key, x)[0], None


@self_attention.mistake("compares x itself, without projections", reread="Why keys exist at all")
def no_projections_for_the_scores(x, w_query, w_key, w_value):
    """The scores compare x with x, so `w_query` and `w_key` have no effect: the model cannot learn which word attends
    to which."""
    return reference.attention(x, x, x @ w_value)[0], None


@self_attention.mistake("transposes the projections")
def torch_layout(x, w_query, w_key, w_value):
    """You multiply by the transposed matrices. PyTorch's Linear keeps its weight as (out, in) and transposes it; in
    this book a projection is (d_model, d_key) and is on the right as it is, x @ w. Only with square matrices does this
    slip raise no error."""
    return reference.attention(x @ w_query.T, x @ w_key.T, x @ w_value.T)


@self_attention.mistake("lets the sentences of a batch see each other", reread="Batch axes")
def batch_flattened(x, w_query, w_key, w_value):
    """The batch is folded into one long sequence, so words attend to words of *other* sentences. Only the
    projections may be folded like that; the scores belong to one sentence each."""
    output, cache = reference.self_attention(x.reshape(-1, x.shape[-1]), w_query, w_key, w_value)
    return output.reshape(*x.shape[:-1], -1), cache


@self_attention.mistake("normalises over the queries", reread="All queries at once")
def projected_queries_compete(x, w_query, w_key, w_value):
    """The softmax runs down the columns, so the words that ask compete for each word that is found. Each word shares
    out one unit among all words: softmax along the last axis."""
    return columns_add_up(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake("normalises along axis 1", reread="Batch axes")
def projected_along_axis_one(x, w_query, w_key, w_value):
    """The softmax runs along axis 1, counted from the front: the keys' axis of one sentence, but not of a batch. Count
    from the end: the keys are axis -1."""
    return keys_on_axis_one(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake("normalises over the batch", reread="Batch axes")
def projected_batch_competes(x, w_query, w_key, w_value):
    """The softmax runs along the first axis, so the sentences of a batch compete for attention (or, without a batch
    axis, the queries do). The keys are the last axis, -1."""
    return batch_competes(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake("overflows on large scores", reread="From scores to weights: the softmax")
def unstable(x, w_query, w_key, w_value):
    """Right for small scores, NaN for large ones, because the softmax in your function does not subtract each row's
    maximum. Call your `attention`."""
    return naive_softmax(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake("promotes float32 to float64")
def projected_promoted(x, w_query, w_key, w_value):
    """float32 came back as float64. `np.sqrt(d_key)` is a float64 *NumPy* scalar and promotes every array it touches;
    `math.sqrt(d_key)` is a plain Python number and promotes nothing."""
    return promoted(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake("lets a d_key of 1 pass for any other", reread="Why queries and keys share a dimension")
def projections_stretched(x, w_query, w_key, w_value):
    """`w_query` and `w_key` must make vectors of the same width. `einsum` and an entry-by-entry product broadcast a
    width of 1 to any other and return numbers anyway. Call your `attention`, which raises a ValueError."""
    return widths_broadcast(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake("exchanges keys and values", reread="Why keys exist at all")
def keys_and_values_exchanged(x, w_query, w_key, w_value):
    """You compare the queries with what `w_value` makes, and average what `w_key` makes. It is the other way round: a
    word is found by its key, and hands over its value. If d_value = d_key, only the numbers are wrong."""
    return reference.attention(x @ w_query, x @ w_value, x @ w_key)


@self_attention.mistake("exchanges the first two axes of the keys", reread="Batch axes")
def projected_front_axes_exchanged(x, w_query, w_key, w_value):
    """The first two axes of the keys are swapped, as `swapaxes(0, 1)` does. For one sentence that is the transpose;
    with a batch, it mixes the batch with the words. Count from the end: `swapaxes(-1, -2)`."""
    return first_two_axes_exchanged(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.mistake("applies the softmax twice", reread="From scores to weights: the softmax")
def projected_weighed_twice(x, w_query, w_key, w_value):
    """The weights go through a softmax once more. They lie between 0 and 1, so they come out nearly even, whatever the
    word asks: call your `attention`, which applies one softmax, to the scores."""
    return softmax_twice(x @ w_query, x @ w_key) @ (x @ w_value), None


@self_attention.equivalent
def values_projected_last(x, w_query, w_key, w_value):
    return reference.attention_weights(x @ w_query, x @ w_key) @ x @ w_value, None


@self_attention.equivalent
def one_fused_product(x, w_query, w_key, w_value):
    d_query, d_key = w_query.shape[1], w_key.shape[1]
    fused = x @ np.concatenate([w_query, w_key, w_value], axis=1)
    return reference.attention(*np.split(fused, [d_query, d_query + d_key], axis=-1))


@self_attention.equivalent
def flat_projections(x, w_query, w_key, w_value):
    flat = x.reshape(-1, x.shape[-1])
    return attention_by_einsum(*((flat @ w).reshape(*x.shape[:-1], -1) for w in (w_query, w_key, w_value)))


@self_attention.equivalent
def one_bilinear_form(x, w_query, w_key, w_value):
    form = w_query @ w_key.T / math.sqrt(w_key.shape[1])
    return reference.softmax(x @ form @ x.swapaxes(-1, -2)) @ (x @ w_value), None
