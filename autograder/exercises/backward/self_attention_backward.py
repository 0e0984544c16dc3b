import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from autograder.exercises.backward.attention_backward import (
    attention_by_einsum,
    keys_from_values,
    query_by_query,
    with_the_output,
)
from autograder.exercises.backward.shared import as_rows, shifted
from solutions import backward as reference
from solutions.self_attention import self_attention

self_attention_backward = Exercise(
    reference.self_attention_backward,
    outputs={
        "grad_x": "... T d_model",
        "grad_w_query": "d_model d_key",
        "grad_w_key": "d_model d_key",
        "grad_w_value": "d_model d_value",
    },
    order=("grad_w_value", "grad_w_query", "grad_w_key", "grad_x"),
    section="Self-attention: three ways back to x",
)
wrong = short_mistakes(self_attention_backward)
changed = changing(reference.self_attention_backward)


def attended(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """Return a random cotangent and the cache of self-attention. All sizes differ, except those that you give."""
    drawn = draw.sizes(4 + n_batch_axes)
    size = dict(zip(("T", "d_model", "d_key", "d_value"), drawn, strict=False)) | sizes
    x = draw.normal(*drawn[4:], size["T"], size["d_model"], dtype=dtype)
    weights = [draw.normal(size["d_model"], size[width], dtype=dtype) for width in ("d_key", "d_key", "d_value")]
    # Weights of the usual size. Larger weights saturate the softmax, and the gradient of the queries is only rounding.
    output, cache = self_attention(x, *(weight * size["d_model"] ** -0.5 for weight in weights))
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@self_attention_backward.cases("the idea", points=3)
def _(draw):
    yield "one sentence", attended(draw)
    yield "square projections", attended(draw, d_model=3, d_key=3, d_value=3)


@self_attention_backward.cases("batches", points=2)
def _(draw):
    yield "one batch axis", attended(draw, 1)
    yield "two batch axes", attended(draw, 2)
    yield "a batch where all sizes agree", attended(draw, 1, T=3, d_model=3, d_key=3, d_value=3)


@self_attention_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", attended(draw, 1, dtype=np.float32, T=8)  # with more words, fewer terms cancel
    for size in ("T", "d_key", "d_value"):
        yield f"{size} = 1", attended(draw, 1, **{size: 1})


def into_the_projections(grad_output, cache, through=reference.attention_backward):
    """Return the gradients of queries, keys and values, each with the weight of its projection."""
    _, w_query, w_key, w_value, attention_cache = cache
    return list(zip(through(grad_output, attention_cache), (w_query, w_key, w_value), strict=True))


def assemble(x, parts, keep=("queries", "keys", "values")):
    """Return the four gradients, from those of the three roles. keep: the roles whose gradients reach x."""
    names = ("queries", "keys", "values")
    back = [g @ w.T for name, (g, w) in zip(names, parts, strict=True) if name in keep]
    return (sum(back), *(as_rows(x).T @ as_rows(g) for g, _ in parts))


def instead(grad_output, cache, **wrong):
    """Return the right four gradients, with some replaced."""
    right = reference.self_attention_backward(grad_output, cache)
    return tuple((dict(zip(self_attention_backward.outputs, right, strict=True)) | wrong).values())


def by_paths(grad_output, cache, *, keep=("queries", "keys", "values"), change=lambda *paths: paths, grad_x_only=False):
    """Return gradients from some of the three paths back.

    change: from the pairs of queries, keys and values to other pairs. A pair is a gradient and the weight of its
    projection. grad_x_only: whether grad_x alone is wrong.
    """
    made = assemble(cache[0], change(*into_the_projections(grad_output, cache)), keep)
    return instead(grad_output, cache, grad_x=made[0]) if grad_x_only else made


wrong("without_the_queries", by_paths, keep=("keys", "values"))("""
    loses the path through the queries
    x is used three times, so three paths lead back to it. grad_x lacks the path through the queries.""")
wrong("without_the_keys", by_paths, keep=("queries", "values"))("""
    loses the path through the keys
    x is used three times, so three paths lead back to it. grad_x lacks the path through the keys, by which other words
    find a word.""")
wrong("without_the_values", by_paths, keep=("queries", "keys"))("""
    loses the path through the values
    x is used three times, so three paths lead back to it. grad_x lacks the path through the values.""")
wrong("queries_only", by_paths, keep=("queries",))("""
    goes back to x through the queries only
    grad_x contains only the path through the queries, as if x were used once. x has three uses, for queries, keys and
    values: add up the three gradients. An `=` overwrites the earlier gradients.""")
wrong("keys_only", by_paths, keep=("keys",))("""
    goes back to x through the keys only
    grad_x contains only the path through the keys, as if x were used once. x has three uses, for queries, keys and
    values: add up the three gradients. An `=` overwrites the earlier gradients.""")
wrong("values_only", by_paths, keep=("values",))("""
    goes back to x through the values only
    grad_x contains only the path through the values, as if the weights were constants. They depend on x, too, through
    queries and keys: there are three paths back, and their gradients add up.""")


@self_attention_backward.mistake("adds the path through the queries once too often")
def queries_once_too_often(grad_output, cache):
    """grad_x contains all three paths back, but the path through the queries twice. Add the gradient of each path
    once."""
    parts = into_the_projections(grad_output, cache)
    (all_ways, *_), (once_more, *_) = assemble(cache[0], parts), assemble(cache[0], parts, keep=("queries",))
    return instead(grad_output, cache, grad_x=all_ways + once_more)


wrong("queries_twice", by_paths, change=lambda q, k, v: (q, q, v), grad_x_only=True)("""
    counts the path through the queries twice
    grad_x contains the path through the queries twice, but lacks the path through the keys. Perhaps you copied a line
    and forgot to change a name. The three paths are those of queries, keys and values.""")
wrong("keys_twice", by_paths, change=lambda q, k, v: (k, k, v), grad_x_only=True)("""
    counts the path through the keys twice
    grad_x contains the path through the keys twice, but lacks the path through the queries. Perhaps you copied a line
    and forgot to change a name. The three paths are those of queries, keys and values.""")
wrong("projections_crossed", by_paths, change=lambda q, k, v: ((q[0], k[1]), (k[0], q[1]), v), grad_x_only=True)("""
    goes back to x through each other's projection
    The gradient of the queries goes back to x through w_key, and that of the keys through w_query. Their shapes agree,
    so there is no error. Each gradient goes back through its own projection.""")
wrong("queries_through_w_key", by_paths, change=lambda q, k, v: ((q[0], k[1]), k, v), grad_x_only=True)("""
    goes back from the queries through w_key
    The gradient of the queries goes back to x through w_key. That is right for the keys' gradient only. The shapes
    agree, so there is no error. w_query made the queries, so their gradient goes back through it.""")
wrong("keys_through_w_query", by_paths, change=lambda q, k, v: (q, (k[0], q[1]), v), grad_x_only=True)("""
    goes back from the keys through w_query
    The gradient of the keys goes back to x through w_query. That is right for the queries' gradient only. The shapes
    agree, so there is no error. w_key made the keys, so their gradient goes back through it.""")
wrong("queries_gradient_for_both", by_paths, change=lambda q, k, v: (q, (q[0], k[1]), v))("""
    gives w_key the queries' gradient
    You use the gradient of the queries instead of that of the keys, so grad_w_key equals grad_w_query, and grad_x is
    wrong, too. `attention_backward` returns three gradients, one for each role.""")
wrong("keys_gradient_for_both", by_paths, change=lambda q, k, v: ((k[0], q[1]), k, v))("""
    gives w_query the keys' gradient
    You use the gradient of the keys instead of that of the queries, so grad_w_query equals grad_w_key, and grad_x is
    wrong, too. `attention_backward` returns three gradients, one for each role.""")


@self_attention_backward.mistake("gives w_value grad_output itself", reread="Attention, walked backwards")
def values_past_the_weights(grad_output, cache):
    """grad_output goes straight into w_value, as if each word had kept its own value. The output *mixed* the values
    with the weights, so their gradient comes back through the transposed weights. It is the third gradient that
    `attention_backward` returns."""
    queries, keys, (_, w_value) = into_the_projections(grad_output, cache)
    return assemble(cache[0], [queries, keys, (grad_output, w_value)])


wrong("three_ways_averaged", changed, change=lambda grad_x, *others: (grad_x / 3, *others))("""
    averages the three paths instead of adding them
    Your grad_x is a third of what it should be. If an array is used three times, its three gradients add up: do not
    divide by three.""")
wrong("projections_not_turned", by_paths, change=lambda *paths: [(g, w.T) for g, w in paths], grad_x_only=True)("""
    does not transpose the projections -> The gradients of a product
    grad_queries @ w_query fits only if the projection is square, and is wrong even then. In the backward pass,
    transpose the projection.""")
wrong("projections_exchanged", changed, change=lambda x, query, key, value: (x, key, query, value))("""
    exchanges the gradients of w_query and w_key
    You swap the gradients of w_query and w_key. Their shapes agree, so there is no error, but each weight would be
    trained with the gradient of the other.""")
wrong("w_query_returned_twice", changed, change=lambda x, query, key, value: (x, query, query, value))("""
    returns the gradient of w_query twice
    grad_x is right, but instead of w_key's gradient you return that of w_query a second time. Their shapes agree, so
    there is no error.""")
wrong("w_key_returned_twice", changed, change=lambda x, query, key, value: (x, key, key, value))("""
    returns the gradient of w_key twice
    grad_x is right, but instead of w_query's gradient you return that of w_key a second time. Their shapes agree, so
    there is no error.""")
wrong(
    "weights_averaged",
    changed,
    change=lambda grad_x, *others: (grad_x, *(grad / math.prod(grad_x.shape[:-2]) for grad in others)),
)("""
    averages over the batch instead of adding up -> One weight, many rows
    You divide the gradients of the projections by the size of the batch. Every sentence used the same projection, so
    the gradients add up. If the loss is a mean, that division is already in grad_output.""")


@self_attention_backward.mistake("keeps only the last sentence of the batch", reread="One weight, many rows")
def last_sentence_only(grad_output, cache):
    """The gradients of the projections come only from the last sentence, as from a loop that assigns (`=`) instead of
    adding (`+=`). Every sentence used the same projection."""
    x, parts = cache[0], into_the_projections(grad_output, cache)
    grad_x, *_ = reference.self_attention_backward(grad_output, cache)
    flat = [g.reshape(-1, *g.shape[-2:])[-1] for g, _ in parts]
    return (grad_x, *(x.reshape(-1, *x.shape[-2:])[-1].T @ g for g in flat))


@self_attention_backward.mistake("takes x from another item of the batch", reread="Why ones test nothing")
def x_of_another(grad_output, cache):
    """The gradients of the projections pair each sentence's gradient with *another* sentence's x. If the batch is made
    of copies, this does not show; with different sentences all numbers are wrong."""
    x, parts = cache[0], into_the_projections(grad_output, cache)
    grad_x, *_ = reference.self_attention_backward(grad_output, cache)
    return (grad_x, *assemble(shifted(x) if x.ndim > 2 else x, parts)[1:])


@self_attention_backward.mistake("builds the gradient of w_key from the values", reread="Attention, walked backwards")
def w_key_from_values(grad_output, cache):
    """Your gradient of w_key multiplies by the values instead of the queries; everything else is right. A score is a
    query times a key, and does not contain a value."""
    _, grad_keys, _ = keys_from_values(grad_output, cache[4])
    return instead(grad_output, cache, grad_w_key=as_rows(cache[0]).T @ as_rows(grad_keys))


@self_attention_backward.equivalent
def by_plain_products(grad_output, cache):
    return assemble(cache[0], into_the_projections(grad_output, cache))


@self_attention_backward.equivalent
def by_einsum_throughout(grad_output, cache):
    x, parts = cache[0], into_the_projections(grad_output, cache, attention_by_einsum)
    grad_x = sum(np.einsum("...tk,dk->...td", g, w) for g, w in parts)
    rows = as_rows(x)
    return (grad_x, *(np.einsum("nd,nk->dk", rows, as_rows(g)) for g, _ in parts))


@self_attention_backward.equivalent
def one_fused_product(grad_output, cache):
    x, parts = cache[0], into_the_projections(grad_output, cache, with_the_output)
    fused, weight = np.concatenate([g for g, _ in parts], -1), np.concatenate([w for _, w in parts], -1)
    cuts = np.cumsum([w.shape[1] for _, w in parts])[:-1]
    grad_x, grad_weight, _ = reference.linear_backward(fused, (x, weight))
    return (grad_x, *np.split(grad_weight, cuts, axis=1))


@self_attention_backward.equivalent
def sentence_by_sentence(grad_output, cache):
    x, parts = cache[0], into_the_projections(grad_output, cache, query_by_query)
    grad_weights = [np.zeros_like(w) for _, w in parts]
    for index in np.ndindex(x.shape[:-2]):
        for grad_weight, (g, _) in zip(grad_weights, parts, strict=True):
            grad_weight += x[index].T @ g[index]
    return [assemble(x, parts)[0], *grad_weights]
