import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.backward.shared import shifted, turned
from autograder.exercises.backward.softmax_backward import (
    both_terms_multiplied_out,
    diagonal_jacobian,
    with_the_jacobian,
)
from solutions import attention as forward
from solutions import backward as reference

attention_backward = Exercise(
    reference.attention_backward,
    outputs={"grad_queries": "... T_query d_key", "grad_keys": "... T_key d_key", "grad_values": "... T_key d_value"},
    order=("grad_values", "grad_queries", "grad_keys"),
    section="Attention, walked backwards",
)
wrong = short_mistakes(attention_backward)


def attended(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """Return a random cotangent and the cache of attention. All sizes differ, except those that you give."""
    names = ("T_query", "T_key", "d_key", "d_value")
    drawn = draw.sizes(4 + n_batch_axes)
    batch = drawn[4:]
    size = dict(zip(names, drawn, strict=False)) | sizes
    queries = draw.normal(*batch, size["T_query"], size["d_key"], dtype=dtype)
    keys = draw.normal(*batch, size["T_key"], size["d_key"], dtype=dtype)
    values = draw.normal(*batch, size["T_key"], size["d_value"], dtype=dtype)
    output, cache = forward.attention(queries, keys, values)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@attention_backward.cases("the idea", points=3)
def _(draw):
    yield "one sentence", attended(draw)
    yield "all sizes agree", attended(draw, T_query=3, T_key=3, d_key=3, d_value=3)
    yield "as many queries as keys", attended(draw, T_query=4, T_key=4, d_key=3, d_value=2)


@attention_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", attended(draw, 1)
    yield "two batch axes", attended(draw, 2)
    yield "a batch where all sizes agree", attended(draw, 1, T_query=3, T_key=3, d_key=3, d_value=3)


@attention_backward.cases("weights that a mask has shaped", points=1)
def _(draw):
    inputs = attended(draw, 1, T_key=8)
    *roles, weights = inputs["cache"]
    allowed = draw.rng.random(weights.shape) < 0.7
    allowed[..., :3] = True, False, True  # a query that sees a single key passes no gradient back to its scores
    allowed[0, 0] = False
    masked = weights * allowed
    total = masked.sum(axis=-1, keepdims=True)
    masked = np.divide(masked, total, out=np.zeros_like(masked), where=total > 0)
    yield "some keys hidden, one query that sees none", inputs | {"cache": (*roles, masked)}


@attention_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", attended(draw, 1, dtype=np.float32)
    for size in ("T_query", "T_key", "d_key", "d_value"):
        yield f"{size} = 1", attended(draw, 1, **{size: 1})


def walked(
    grad_output, cache, *,
    through=reference.softmax_backward, scale=lambda g, queries, keys, *_: 1 / math.sqrt(keys.shape[-1]),
    queries_from=lambda grad_scores, grad_weights, queries, keys, values: grad_scores @ keys,
    keys_from=lambda grad_scores, grad_weights, queries, keys, values: turned(grad_scores) @ queries,
):  # fmt: skip
    """Run the backward pass with one of its parts replaced.

    through: the backward pass of the softmax. scale: from the cotangent and the cache to a factor. queries_from,
    keys_from: functions that return these gradients without the scale.
    """
    queries, keys, values, weights = cache
    grad_weights, factor = grad_output @ turned(values), scale(grad_output, *cache)
    found = through(grad_weights, weights), grad_weights, queries, keys, values
    return queries_from(*found) * factor, keys_from(*found) * factor, turned(weights) @ grad_output


def changed(grad_output, cache, *, change):
    """Apply a function to the three right gradients and the root of d_key."""
    return change(*reference.attention_backward(grad_output, cache), math.sqrt(cache[1].shape[-1]))


wrong("scale_forgotten", walked, scale=lambda *_: 1)("""
    forgets the scale
    The forward pass divided the scores by the square root of d_key, so the gradients of queries and keys have the same
    factor. Without the factor, both are too large by this root.""")
wrong("scale_inverted", walked, scale=lambda g, queries, keys, *_: math.sqrt(keys.shape[-1]))("""
    multiplies by the root of d_key instead of dividing
    A factor stays the same factor in the backward pass: if the forward pass divides by the root of d_key, so does the
    backward pass. You multiply.""")
wrong("scale_twice", walked, scale=lambda g, queries, keys, *_: 1 / keys.shape[-1])("""
    applies the scale twice
    You divide the gradients of queries and keys by the root of d_key twice: once on the scores, and once more on the
    products. The forward pass divides once, so divide once here.""")
wrong("keys_unscaled", changed, change=lambda q, k, v, root: (q, k * root, v))("""
    scales the queries' gradient only
    The queries' gradient has the factor 1 / sqrt(d_key), but the keys' gradient does not. The factor belongs to the
    scores, and both gradients come through the scores.""")
wrong("queries_unscaled", changed, change=lambda q, k, v, root: (q * root, k, v))("""
    scales the keys' gradient only
    The keys' gradient has the factor 1 / sqrt(d_key), but the queries' gradient does not. The factor belongs to the
    scores, and both gradients come through the scores.""")
wrong("values_scaled", changed, change=lambda q, k, v, root: (q, k, v / root))("""
    scales the values' gradient, too
    You divide the values' gradient by the root of d_key, like those of queries and keys. The forward pass scaled only
    the scores, before the softmax. The values come in after the softmax.""")
wrong("scaled_by_d_value", walked, scale=lambda g, *_: 1 / math.sqrt(g.shape[-1]))("""
    takes the scale from the gradient that arrives
    You divide by the root of d_value, the last axis of grad_output. The forward pass divided by the root of d_key, the
    width of queries and keys.""")
wrong("scaled_by_T_key", walked, scale=lambda g, *cache: 1 / math.sqrt(cache[3].shape[-1]))("""
    scales by the number of keys
    You divide by the root of T_key, which is the last axis of the *scores*. The forward pass divided by the root of
    d_key, the width of queries and keys.""")
wrong(
    "divided_by_the_batch", changed, change=lambda *found: tuple(g / (len(g) if g.ndim > 2 else 1) for g in found[:3])
)("""
    divides by the size of the batch -> The chain rule, path by path
    You divide all three gradients by the length of the first axis. The forward pass treats each sentence separately. If
    the loss is a mean, its division is already in grad_output.""")


@attention_backward.mistake(
    "treats the softmax's Jacobian as diagonal, and forgets the scale",
    reread="The softmax Jacobian, and why one never builds it",
)
def diagonal_without_scale(grad_output, cache):
    """The gradients of queries and keys contain two mistakes. Your softmax backward is s(1 - s) times the cotangent,
    although a score changes *every* weight of its row. And the factor 1 / sqrt(d_key) of the scores is missing."""
    return walked(grad_output, cache, through=diagonal_jacobian, scale=lambda *_: 1)


wrong(
    "past_the_softmax_to_the_queries",
    walked,
    queries_from=lambda grad_scores, grad_weights, queries, keys, values: grad_weights @ keys,
)("""
    goes past the softmax to the queries
    You make the queries' gradient with grad_weights, but that of the keys with grad_scores. Both must go back through
    the softmax, so use grad_scores for both.""")
wrong(
    "past_the_softmax_to_the_keys",
    walked,
    keys_from=lambda grad_scores, grad_weights, queries, *_: turned(grad_weights) @ queries,
)("""
    goes past the softmax to the keys
    You make the keys' gradient with grad_weights, but that of the queries with grad_scores. Both must go back through
    the softmax, so use grad_scores for both.""")
wrong("keys_from_rows", walked, keys_from=lambda grad_scores, grad_weights, queries, *_: grad_scores @ queries)("""
    builds the keys' gradient with the scores' gradient not transposed
    Your keys' gradient uses grad_scores instead of its transpose. A key belongs to a *column* of the scores, so its
    gradient gathers from all queries, down this column. If there are as many queries as keys, only the numbers are
    wrong.""")
wrong("keys_left_turned", changed, change=lambda q, k, v, root: (q, turned(k), v))("""
    leaves the keys' gradient transposed -> The gradients of a product
    You return the gradient of keys^T, the matrix in the product, and not that of the keys. Transpose it back. By the
    transpose rule, the gradient of a transpose is the transpose of the gradient.""")
wrong("keys_from_keys", walked, keys_from=lambda grad_scores, w, queries, keys, values: turned(grad_scores) @ keys)("""
    builds the keys' gradient from the keys -> The gradients of a product
    In scores = queries keys^T, the gradient of each factor contains the *other* factor: the queries' gradient contains
    the keys, and the keys' gradient the queries. You used the keys twice.""")
wrong(
    "queries_from_queries", walked, queries_from=lambda grad_scores, w, queries, keys, values: grad_scores @ queries
)("""
    builds the queries' gradient from the queries -> The gradients of a product
    In scores = queries keys^T, the gradient of each factor contains the *other* factor: the queries' gradient contains
    the keys, and the keys' gradient the queries. You used the queries twice.""")
keys_from_values = wrong(
    "keys_from_values", walked, keys_from=lambda grad_scores, w, queries, keys, values: turned(grad_scores) @ values
)("""
    builds the keys' gradient from the values
    Your keys' gradient multiplies by the values instead of the queries. A score does not contain the values, so its
    gradient cannot contain them.""")


@attention_backward.mistake("does not transpose the weights for the values")
def values_from_rows(grad_output, cache):
    """Your values' gradient uses the weights instead of their transpose. *All* queries read a value, each with its own
    weight, so its gradient gathers down a column of the weights."""
    grad_queries, grad_keys, _ = reference.attention_backward(grad_output, cache)
    return grad_queries, grad_keys, cache[3] @ grad_output


wrong(
    "ones_for_the_loss", lambda grad_output, cache: reference.attention_backward(np.ones_like(grad_output), cache)
)("""
    takes the loss for a plain sum -> The chain rule, path by path
    Your gradients are those of the sum of all outputs, whatever grad_output is. Only grad_output tells you how the loss
    depends on each output: start from it.""")


@attention_backward.mistake("computes the weights anew")
def weights_anew(grad_output, cache):
    """You compute the weights again from queries and keys instead of taking them from the cache. Here the weights are
    the same, at twice the cost. After a mask, as in chapter 3, they differ."""
    queries, keys, values, _ = cache
    again = forward.attention_weights(queries, keys)
    return reference.attention_backward(grad_output, (queries, keys, values, again))


@attention_backward.mistake("takes the weights from another item of the batch", reread="Why ones test nothing")
def weights_of_another(grad_output, cache):
    """Each sentence gets its gradients from the weights of another sentence. If all sentences of the batch are copies,
    this does not show; with different sentences everything is wrong."""
    queries, keys, values, weights = cache
    other = shifted(weights) if weights.ndim > 2 else weights
    return reference.attention_backward(grad_output, (queries, keys, values, other))


wrong("values_first", changed, change=lambda q, k, v, root: (v, q, k))("""
    returns the gradients in the order of the derivation
    The gradients are right, but in the wrong order. In the derivation the values' gradient comes first, but a backward
    function returns gradients in the order of the forward pass's arguments: queries, keys, values.""")
wrong("queries_and_keys_exchanged", changed, change=lambda q, k, v, root: (k, q, v))("""
    exchanges the gradients of queries and keys
    You swap the gradients of queries and keys. With as many queries as keys the shapes agree, and there is no error.
    Return the gradients in the order of the forward pass's arguments: queries, keys, values.""")
wrong("promoted", walked, scale=lambda g, queries, keys, *_: np.float64(1 / math.sqrt(keys.shape[-1])))("""
    returns float64 whatever the dtype is
    float32 came back as float64. `np.sqrt(d_key)` is a float64 *NumPy* scalar and promotes every array it touches;
    `math.sqrt(d_key)` is a plain Python number and promotes nothing.""")


@attention_backward.equivalent
def attention_by_einsum(grad_output, cache):
    queries, keys, values, weights = cache
    grad_weights = np.einsum("...iv,...jv->...ij", grad_output, values)
    grad_scores = both_terms_multiplied_out(grad_weights, weights) * keys.shape[-1] ** -0.5
    return (
        np.einsum("...ij,...jk->...ik", grad_scores, keys),
        np.einsum("...ij,...ik->...jk", grad_scores, queries),
        np.einsum("...ij,...iv->...jv", weights, grad_output),
    )


@attention_backward.equivalent
def query_by_query(grad_output, cache):
    queries, keys, values, weights = cache
    grad_queries, grad_keys, grad_values = np.zeros_like(queries), np.zeros_like(keys), np.zeros_like(values)
    for i in range(queries.shape[-2]):
        a, g = weights[..., i, :, None], grad_output[..., i, None, :]
        grad_values += a * g
        towards = (g * values).sum(axis=-1, keepdims=True)
        slope = a * (towards - (a * towards).sum(axis=-2, keepdims=True)) / math.sqrt(keys.shape[-1])
        grad_queries[..., i, :] = (slope * keys).sum(axis=-2)
        grad_keys += slope * queries[..., i, None, :]
    return grad_queries, grad_keys, grad_values


@attention_backward.equivalent
def with_the_output(grad_output, cache):
    """Replace the row sum of weights times their gradient by that of the output times its gradient, as fused kernels
    do."""
    _, _, values, weights = cache
    row_sum = (grad_output * (weights @ values)).sum(axis=-1, keepdims=True)
    return list(walked(grad_output, cache, through=lambda grad_weights, weights: weights * (grad_weights - row_sum)))


@attention_backward.equivalent
def scaled_before_the_products(grad_output, cache):
    root = math.sqrt(cache[0].shape[-1])
    return walked(grad_output, cache, through=lambda g, w: with_the_jacobian(g, w) / root, scale=lambda *_: 1)
