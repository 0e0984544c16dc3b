"""attention_backward: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.backward.shared import shifted, turned
from autograder.exercises.backward.softmax_backward import (
    both_terms_multiplied_out,
    diagonal_jacobian,
    over_the_rows,
    softmax_skipped,
    with_the_jacobian,
)
from solutions import attention as forward
from solutions import backward as reference

attention_backward = Exercise(
    reference.attention_backward,
    outputs={"grad_queries": "... T_query d_key", "grad_keys": "... T_key d_key", "grad_values": "... T_key d_value"},
    order=("grad_values", "grad_queries", "grad_keys"),
    section="Attention, walked backwards",
    uses=("softmax_backward",),
)


def attended(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """A random cotangent and the cache that attention left, no two sizes alike unless given."""
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
    inputs = attended(draw, 1)
    *roles, weights = inputs["cache"]
    allowed = draw.rng.random(weights.shape) < 0.7
    allowed[..., :2] = True, False
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


def walked(grad_output, cache, *, through=reference.softmax_backward, scale=None, queries_from=None, keys_from=None):
    """The backward pass with one of its parts replaced.

    through: the backward pass of the softmax. scale: a factor; 1 / sqrt(d_key) if None. queries_from, keys_from: what
    makes that gradient, all but the scale, from grad_scores and the cache.
    """
    queries, keys, values, weights = cache
    scale = 1 / math.sqrt(keys.shape[-1]) if scale is None else scale
    grad_scores = through(grad_output @ turned(values), weights)
    grad_queries = queries_from(grad_scores, cache) if queries_from else grad_scores @ keys
    grad_keys = keys_from(grad_scores, cache) if keys_from else turned(grad_scores) @ queries
    return grad_queries * scale, grad_keys * scale, turned(weights) @ grad_output


@attention_backward.mistake("forgets the scale")
def scale_forgotten(grad_output, cache):
    """The forward pass divided the scores by the square root of d_key, so the gradients of queries and keys have the
    same factor. Without it both are too large by that root."""
    return walked(grad_output, cache, scale=1)


@attention_backward.mistake("multiplies by the root of d_key instead of dividing")
def scale_inverted(grad_output, cache):
    """A factor stays the same factor in the backward pass: if the forward pass divides by the root of d_key, so does
    the backward pass. You multiply."""
    return walked(grad_output, cache, scale=math.sqrt(cache[1].shape[-1]))


@attention_backward.mistake("applies the scale twice")
def scale_twice(grad_output, cache):
    """Your gradients of queries and keys are divided by d_key: the root of d_key once on the scores, and once more on
    the products. The forward pass applies it once, so apply it once here."""
    return walked(grad_output, cache, scale=1 / cache[1].shape[-1])


@attention_backward.mistake("scales the queries' gradient only")
def keys_unscaled(grad_output, cache):
    """The queries' gradient has the factor 1 / sqrt(d_key), but the keys' gradient does not. The factor belongs to the
    scores, and both got their gradient through them."""
    right = reference.attention_backward(grad_output, cache)
    return right[0], right[1] * math.sqrt(cache[1].shape[-1]), right[2]


@attention_backward.mistake("scales the keys' gradient only")
def queries_unscaled(grad_output, cache):
    """The keys' gradient has the factor 1 / sqrt(d_key), but the queries' gradient does not. The factor belongs to the
    scores, and both got their gradient through them."""
    right = reference.attention_backward(grad_output, cache)
    return right[0] * math.sqrt(cache[1].shape[-1]), right[1], right[2]


@attention_backward.mistake("scales the values' gradient, too")
def values_scaled(grad_output, cache):
    """The values' gradient is divided by the root of d_key, as those of queries and keys are. The scale was applied to
    the scores, before the softmax. The values come in after it."""
    right = reference.attention_backward(grad_output, cache)
    return right[0], right[1], right[2] / math.sqrt(cache[1].shape[-1])


@attention_backward.mistake("takes the scale from the gradient that arrives")
def scaled_by_d_value(grad_output, cache):
    """You divide by the root of d_value, the last axis of grad_output. The forward pass divided by the root of d_key,
    the width of queries and keys."""
    return walked(grad_output, cache, scale=1 / math.sqrt(grad_output.shape[-1]))


@attention_backward.mistake("scales by the number of keys")
def scaled_by_T_key(grad_output, cache):
    """You divide by the root of T_key, which is the last axis of the *scores*. The forward pass divided by the root of
    d_key, the width of queries and keys."""
    return walked(grad_output, cache, scale=1 / math.sqrt(cache[3].shape[-1]))


@attention_backward.mistake("divides by the size of the batch", reread="The chain rule, path by path")
def divided_by_the_batch(grad_output, cache):
    """All three gradients are divided by the length of the first axis. The forward pass keeps the sentences apart. If
    the loss is a mean, its division is already in grad_output."""
    n = len(grad_output) if grad_output.ndim > 2 else 1
    return tuple(grad / n for grad in reference.attention_backward(grad_output, cache))


@attention_backward.mistake(
    "gives softmax_backward its arguments in the wrong order",
    reread="The softmax Jacobian, and why one never builds it",
)
def softmax_arguments_exchanged(grad_output, cache):
    """You pass the weights where their gradient belongs, and the gradient where the weights belong. Both have the same
    shape, so there is no error. It is softmax_backward(grad_weights, weights)."""
    return walked(grad_output, cache, through=lambda g, weights: reference.softmax_backward(weights, g))


@attention_backward.mistake(
    "treats the softmax's Jacobian as diagonal", reread="The softmax Jacobian, and why one never builds it"
)
def attention_with_a_diagonal_jacobian(grad_output, cache):
    """Your softmax backward is s(1 - s) times the cotangent. The values' gradient does not notice; those of queries and
    keys are wrong, since a score moves *every* weight of its row."""
    return walked(grad_output, cache, through=diagonal_jacobian)


@attention_backward.mistake(
    "treats the softmax's Jacobian as diagonal, and forgets the scale",
    reread="The softmax Jacobian, and why one never builds it",
)
def diagonal_without_scale(grad_output, cache):
    """Two things at once in the gradients of queries and keys. Your softmax backward is s(1 - s) times the cotangent,
    where a score moves *every* weight of its row; and the factor 1 / sqrt(d_key) of the scores is missing."""
    return walked(grad_output, cache, through=diagonal_jacobian, scale=1)


@attention_backward.mistake("leaves out the softmax")
def attention_without_the_softmax(grad_output, cache):
    """You take the gradient of the weights for the gradient of the scores. The softmax is between the two: call your
    `softmax_backward`."""
    return walked(grad_output, cache, through=softmax_skipped)


@attention_backward.mistake("goes past the softmax to the queries")
def past_the_softmax_to_the_queries(grad_output, cache):
    """The queries' gradient is made with grad_weights, that of the keys with grad_scores. Both must go back through the
    softmax, so use grad_scores for both."""
    grad_weights = grad_output @ turned(cache[2])
    return walked(grad_output, cache, queries_from=lambda grad_scores, cache: grad_weights @ cache[1])


@attention_backward.mistake("goes past the softmax to the keys")
def past_the_softmax_to_the_keys(grad_output, cache):
    """The keys' gradient is made with grad_weights, that of the queries with grad_scores. Both must go back through the
    softmax, so use grad_scores for both."""
    grad_weights = grad_output @ turned(cache[2])
    return walked(grad_output, cache, keys_from=lambda grad_scores, cache: turned(grad_weights) @ cache[0])


@attention_backward.mistake(
    "goes back through the softmax along the wrong axis", reread="The softmax Jacobian, and why one never builds it"
)
def attention_over_the_rows(grad_output, cache):
    """The row sum of the softmax's backward runs down the columns. Each query has its own softmax, along the keys, and
    so its own sum: the last axis."""
    return walked(grad_output, cache, through=over_the_rows)


@attention_backward.mistake("builds the keys' gradient with the scores' gradient not transposed")
def keys_from_rows(grad_output, cache):
    """The keys' gradient uses grad_scores where it needs its transpose. A key is a *column* of the scores: its gradient
    gathers from all queries, down that column. As long as there are as many queries as keys, only the numbers are
    wrong."""
    return walked(grad_output, cache, keys_from=lambda grad_scores, cache: grad_scores @ cache[0])


@attention_backward.mistake("leaves the keys' gradient transposed", reread="The gradients of a product")
def keys_left_turned(grad_output, cache):
    """You return the gradient of keys^T, the matrix in the product, and not that of the keys: transpose it back. By the
    transpose rule, the gradient of a transpose is the transpose of the gradient."""
    grad_queries, grad_keys, grad_values = reference.attention_backward(grad_output, cache)
    return grad_queries, turned(grad_keys), grad_values


@attention_backward.mistake("builds the keys' gradient from the keys", reread="The gradients of a product")
def keys_from_keys(grad_output, cache):
    """In scores = queries keys^T the gradient of each factor is made with the *other* one: keys in that of the queries,
    queries in that of the keys. You used the keys twice."""
    return walked(grad_output, cache, keys_from=lambda grad_scores, cache: turned(grad_scores) @ cache[1])


@attention_backward.mistake("builds the queries' gradient from the queries", reread="The gradients of a product")
def queries_from_queries(grad_output, cache):
    """In scores = queries keys^T the gradient of each factor is made with the *other* one: keys in that of the queries,
    queries in that of the keys. You used the queries twice."""
    return walked(grad_output, cache, queries_from=lambda grad_scores, cache: grad_scores @ cache[0])


@attention_backward.mistake("builds the keys' gradient from the values")
def keys_from_values(grad_output, cache):
    """Your keys' gradient multiplies by the values where the queries belong. Values take no part in a score, so they
    cannot be in its gradient."""
    return walked(grad_output, cache, keys_from=lambda grad_scores, cache: turned(grad_scores) @ cache[2])


@attention_backward.mistake("does not transpose the weights for the values")
def values_from_rows(grad_output, cache):
    """The values' gradient uses the weights where it needs their transpose. A value is read by *all* queries, each with
    its own weight: it gathers down a column of the weights."""
    grad_queries, grad_keys, _ = reference.attention_backward(grad_output, cache)
    return grad_queries, grad_keys, cache[3] @ grad_output


@attention_backward.mistake("takes the loss for a plain sum", reread="The chain rule, path by path")
def ones_for_the_loss(grad_output, cache):
    """Your gradients are those of the sum of all outputs, whatever grad_output is. Only grad_output tells you how the
    loss depends on each output: start from it."""
    return reference.attention_backward(np.ones_like(grad_output), cache)


@attention_backward.mistake("computes the weights anew")
def weights_anew(grad_output, cache):
    """You compute the weights again from queries and keys instead of taking them from the cache. Here they are the
    same, at twice the cost. Once a mask has shaped the weights, as in chapter 3, they differ."""
    queries, keys, values, _ = cache
    again = forward.attention_weights(queries, keys)
    return reference.attention_backward(grad_output, (queries, keys, values, again))


@attention_backward.mistake("takes the weights from another item of the batch", reread="A check that is blind")
def weights_of_another(grad_output, cache):
    """Each sentence gets its gradients from the weights of another one. If all sentences of the batch are copies, this
    does not show; with different sentences everything is wrong."""
    queries, keys, values, weights = cache
    other = shifted(weights) if weights.ndim > 2 else weights
    return reference.attention_backward(grad_output, (queries, keys, values, other))


@attention_backward.mistake("returns the gradients in the order of the derivation")
def values_first(grad_output, cache):
    """The gradients are right, but in the wrong order: the values' comes first in the derivation, but a backward
    function returns in the order of the forward's arguments, queries, keys, values."""
    grad_queries, grad_keys, grad_values = reference.attention_backward(grad_output, cache)
    return grad_values, grad_queries, grad_keys


@attention_backward.mistake("exchanges the gradients of queries and keys")
def queries_and_keys_exchanged(grad_output, cache):
    """The gradients of queries and keys are swapped. With as many queries as keys the shapes agree, and there is no
    error. Return queries, keys, values, the order of the forward's arguments."""
    grad_queries, grad_keys, grad_values = reference.attention_backward(grad_output, cache)
    return grad_keys, grad_queries, grad_values


@attention_backward.mistake("returns float64 whatever the dtype is")
def promoted(grad_output, cache):
    """float32 came back as float64. `np.sqrt(d_key)` is a float64 *NumPy* scalar and promotes every array it touches;
    `math.sqrt(d_key)` is a plain Python number and promotes nothing."""
    scale = np.float64(1 / math.sqrt(cache[1].shape[-1]))
    return walked(grad_output, cache, scale=scale)


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
    """The row sum of weights times their gradient is that of the output times its own: fused kernels use it."""
    _, _, values, weights = cache
    row_sum = (grad_output * (weights @ values)).sum(axis=-1, keepdims=True)
    return list(walked(grad_output, cache, through=lambda grad_weights, weights: weights * (grad_weights - row_sum)))


@attention_backward.equivalent
def scaled_before_the_products(grad_output, cache):
    root = math.sqrt(cache[0].shape[-1])
    return walked(grad_output, cache, through=lambda g, weights: with_the_jacobian(g, weights) / root, scale=1)
