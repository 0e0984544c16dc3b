"""self_attention_backward: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.backward.attention_backward import (
    attention_by_einsum,
    attention_with_a_diagonal_jacobian,
    diagonal_without_scale,
    keys_from_values,
    query_by_query,
    scale_forgotten,
    with_the_output,
)
from autograder.exercises.backward.shared import as_rows, shifted, turned
from solutions import attention as forward
from solutions import backward as reference

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
    uses=("attention_backward", "linear_backward"),
)


def attended(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """A random cotangent and the cache that self-attention left, no two sizes alike unless given."""
    drawn = draw.sizes(4 + n_batch_axes)
    size = dict(zip(("T", "d_model", "d_key", "d_value"), drawn, strict=False)) | sizes
    x = draw.normal(*drawn[4:], size["T"], size["d_model"], dtype=dtype)
    weights = [draw.normal(size["d_model"], size[width], dtype=dtype) for width in ("d_key", "d_key", "d_value")]
    # Weights of the usual size. Larger ones saturate the softmax, and the gradient of the queries is rounding alone.
    output, cache = forward.self_attention(x, *(weight * size["d_model"] ** -0.5 for weight in weights))
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
    yield "float32", attended(draw, 1, dtype=np.float32, T=8)  # the more words, the fewer terms that cancel
    for size in ("T", "d_key", "d_value"):
        yield f"{size} = 1", attended(draw, 1, **{size: 1})


def into_the_projections(grad_output, cache, through=reference.attention_backward):
    """The gradients of queries, keys and values, each with the weight that made it."""
    _, w_query, w_key, w_value, attention_cache = cache
    return list(zip(through(grad_output, attention_cache), (w_query, w_key, w_value), strict=True))


def assemble(x, parts, keep=("queries", "keys", "values")):
    """The four gradients from those of the three roles; `keep`: which of them reach x."""
    names = ("queries", "keys", "values")
    back = [g @ w.T for name, (g, w) in zip(names, parts, strict=True) if name in keep]
    return (sum(back), *(as_rows(x).T @ as_rows(g) for g, _ in parts))


def instead(grad_output, cache, **wrong):
    """The right four gradients, with some replaced."""
    right = reference.self_attention_backward(grad_output, cache)
    return tuple((dict(zip(self_attention_backward.outputs, right, strict=True)) | wrong).values())


@self_attention_backward.mistake("loses the path through the queries")
def without_the_queries(grad_output, cache):
    """x is used three times, so three paths lead back to it. The one through the queries is missing from grad_x."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("keys", "values"))


@self_attention_backward.mistake("loses the path through the keys")
def without_the_keys(grad_output, cache):
    """x is used three times, so three paths lead back to it. The one through the keys is missing from grad_x. Each word
    is also found by others, through its key."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("queries", "values"))


@self_attention_backward.mistake("loses the path through the values")
def without_the_values(grad_output, cache):
    """x is used three times, so three paths lead back to it. The one through the values is missing from grad_x."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("queries", "keys"))


@self_attention_backward.mistake("goes back to x through the queries only")
def queries_only(grad_output, cache):
    """grad_x contains the path through the queries alone, as if x were used once. It is used three times, for queries,
    keys and values: add up the three gradients. An `=` overwrites the earlier ones."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("queries",))


@self_attention_backward.mistake("goes back to x through the keys only")
def keys_only(grad_output, cache):
    """grad_x contains the path through the keys alone, as if x were used once. It is used three times, for queries,
    keys and values: add up the three gradients. An `=` overwrites the earlier ones."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("keys",))


@self_attention_backward.mistake("goes back to x through the values only")
def values_only(grad_output, cache):
    """grad_x contains the path through the values alone, as if the weights were constants. They depend on x, too,
    through queries and keys: there are three paths back, and their gradients add up."""
    return assemble(cache[0], into_the_projections(grad_output, cache), keep=("values",))


@self_attention_backward.mistake("adds the path through the queries once too often")
def queries_once_too_often(grad_output, cache):
    """grad_x contains all three paths back, and that through the queries once more. Each path adds its gradient to that
    of x once."""
    parts = into_the_projections(grad_output, cache)
    (all_ways, *_), (once_more, *_) = assemble(cache[0], parts), assemble(cache[0], parts, keep=("queries",))
    return instead(grad_output, cache, grad_x=all_ways + once_more)


@self_attention_backward.mistake("counts the path through the queries twice")
def queries_twice(grad_output, cache):
    """grad_x contains the path through the queries twice, and that through the keys not at all: one name was copied and
    not changed. The three paths are those of queries, keys and values."""
    queries, _, values = into_the_projections(grad_output, cache)
    return instead(grad_output, cache, grad_x=assemble(cache[0], [queries, queries, values])[0])


@self_attention_backward.mistake("counts the path through the keys twice")
def keys_twice(grad_output, cache):
    """grad_x contains the path through the keys twice, and that through the queries not at all: one name was copied and
    not changed. The three paths are those of queries, keys and values."""
    _, keys, values = into_the_projections(grad_output, cache)
    return instead(grad_output, cache, grad_x=assemble(cache[0], [keys, keys, values])[0])


@self_attention_backward.mistake("goes back to x through each other's projection")
def projections_crossed(grad_output, cache):
    """The gradient of the queries goes back to x through w_key, and that of the keys through w_query. Their shapes
    agree, so there is no error. Each goes back through the projection that made it."""
    (g_query, w_query), (g_key, w_key), values = into_the_projections(grad_output, cache)
    crossed = assemble(cache[0], [(g_query, w_key), (g_key, w_query), values])
    return instead(grad_output, cache, grad_x=crossed[0])


@self_attention_backward.mistake("goes back from the queries through w_key")
def queries_through_w_key(grad_output, cache):
    """The gradient of the queries goes back to x through w_key. That is right for the keys' gradient only. The shapes
    agree, so there is no error. w_query made the queries, so their gradient goes back through it."""
    queries, keys, values = into_the_projections(grad_output, cache)
    return instead(grad_output, cache, grad_x=assemble(cache[0], [(queries[0], keys[1]), keys, values])[0])


@self_attention_backward.mistake("goes back from the keys through w_query")
def keys_through_w_query(grad_output, cache):
    """The gradient of the keys goes back to x through w_query. That is right for the queries' gradient only. The shapes
    agree, so there is no error. w_key made the keys, so their gradient goes back through it."""
    queries, keys, values = into_the_projections(grad_output, cache)
    return instead(grad_output, cache, grad_x=assemble(cache[0], [queries, (keys[0], queries[1]), values])[0])


@self_attention_backward.mistake("gives w_key the queries' gradient")
def queries_gradient_for_both(grad_output, cache):
    """You use the gradient of the queries where that of the keys belongs, so grad_w_key equals grad_w_query, and grad_x
    is wrong with it. `attention_backward` returns three gradients, one for each role."""
    queries, (_, w_key), values = into_the_projections(grad_output, cache)
    return assemble(cache[0], [queries, (queries[0], w_key), values])


@self_attention_backward.mistake("gives w_query the keys' gradient")
def keys_gradient_for_both(grad_output, cache):
    """You use the gradient of the keys where that of the queries belongs, so grad_w_query equals grad_w_key, and grad_x
    is wrong with it. `attention_backward` returns three gradients, one for each role."""
    (_, w_query), keys, values = into_the_projections(grad_output, cache)
    return assemble(cache[0], [(keys[0], w_query), keys, values])


@self_attention_backward.mistake("gives w_value grad_output itself", reread="Attention, walked backwards")
def values_past_the_weights(grad_output, cache):
    """grad_output goes straight into w_value, as if each word had kept its own value. The output *mixed* the values
    with the weights, so their gradient comes back through the weights, transposed: it is the third that
    `attention_backward` returns."""
    queries, keys, (_, w_value) = into_the_projections(grad_output, cache)
    return assemble(cache[0], [queries, keys, (grad_output, w_value)])


@self_attention_backward.mistake("averages the three paths instead of adding them")
def three_ways_averaged(grad_output, cache):
    """Your grad_x is a third of what it should be. Where an array is used three times, its gradients add up: do not
    divide by three."""
    return instead(grad_output, cache, grad_x=reference.self_attention_backward(grad_output, cache)[0] / 3)


@self_attention_backward.mistake("does not transpose the projections", reread="The gradients of a product")
def projections_not_turned(grad_output, cache):
    """grad_queries @ w_query fits only if the projection is square, and is wrong even then: in the backward pass the
    projection is transposed."""
    parts = into_the_projections(grad_output, cache)
    return instead(grad_output, cache, grad_x=sum(g @ w for g, w in parts))


@self_attention_backward.mistake("transposes the gradients of the projections", reread="The gradients of a product")
def projections_gradients_turned(grad_output, cache):
    """Each weight's gradient is transposed: grad_queries^T x is (d_key, d_model), and w_query is (d_model, d_key). In
    this book x is on the left, so its transpose is, too: x^T grad_queries."""
    grad_x, *others = reference.self_attention_backward(grad_output, cache)
    return (grad_x, *(grad.T.copy() for grad in others))


@self_attention_backward.mistake("exchanges the gradients of w_query and w_key")
def projections_exchanged(grad_output, cache):
    """The gradients of w_query and w_key are swapped. Their shapes agree, so there is no error, but each weight would
    be trained with the gradient of the other."""
    grad_x, grad_w_query, grad_w_key, grad_w_value = reference.self_attention_backward(grad_output, cache)
    return grad_x, grad_w_key, grad_w_query, grad_w_value


@self_attention_backward.mistake("takes the queries' gradient for the keys', and the other way round")
def queries_and_keys_exchanged(grad_output, cache):
    """You use the gradient of the queries for w_key, and that of the keys for w_query, both in the gradients of these
    weights and in grad_x. The shapes agree, so there is no error. `attention_backward` returns queries, keys,
    values."""
    (g_query, w_query), (g_key, w_key), values = into_the_projections(grad_output, cache)
    return assemble(cache[0], [(g_key, w_query), (g_query, w_key), values])


@self_attention_backward.mistake(
    "treats the softmax's Jacobian as diagonal, and forgets the scale",
    reread="The softmax Jacobian, and why one never builds it",
)
def self_attention_with_a_diagonal_without_scale(grad_output, cache):
    """Two things at once on the path through queries and keys: s(1 - s) takes the place of the softmax's whole
    Jacobian, and the factor 1 / sqrt(d_key) is missing. Call your `attention_backward`."""
    return assemble(cache[0], into_the_projections(grad_output, cache, diagonal_without_scale))


@self_attention_backward.mistake("returns the gradient of w_query twice")
def w_query_returned_twice(grad_output, cache):
    """grad_x is right, but in place of w_key's gradient you return that of w_query a second time. Their shapes agree,
    so there is no error."""
    return instead(grad_output, cache, grad_w_key=reference.self_attention_backward(grad_output, cache)[1])


@self_attention_backward.mistake("returns the gradient of w_key twice")
def w_key_returned_twice(grad_output, cache):
    """grad_x is right, but in place of w_query's gradient you return that of w_key a second time. Their shapes agree,
    so there is no error."""
    return instead(grad_output, cache, grad_w_query=reference.self_attention_backward(grad_output, cache)[2])


@self_attention_backward.mistake("averages over the batch instead of adding up", reread="One weight, many rows")
def weights_averaged(grad_output, cache):
    """The gradients of the projections are divided by the size of the batch. Every sentence used the same projection,
    so the gradients add up. If the loss is a mean, that division is already in grad_output."""
    grad_x, *others = reference.self_attention_backward(grad_output, cache)
    n = math.prod(grad_x.shape[:-2])
    return (grad_x, *(grad / n for grad in others))


@self_attention_backward.mistake("keeps only the last sentence of the batch", reread="One weight, many rows")
def last_sentence_only(grad_output, cache):
    """The gradients of the projections come from the last sentence alone, as from a loop that assigns (`=`) where it
    should add (`+=`). Every sentence used the same projection."""
    x, parts = cache[0], into_the_projections(grad_output, cache)
    grad_x, *_ = reference.self_attention_backward(grad_output, cache)
    flat = [g.reshape(-1, *g.shape[-2:])[-1] for g, _ in parts]
    return (grad_x, *(x.reshape(-1, *x.shape[-2:])[-1].T @ g for g in flat))


@self_attention_backward.mistake(
    "leaves the batch axes on the gradients of the projections", reread="One weight, many rows"
)
def weights_of_each_sentence(grad_output, cache):
    """There is one gradient for each sentence and each projection. But a projection is one matrix, shared by all
    sentences, and its gradient has its shape: add up over the batch."""
    x, parts = cache[0], into_the_projections(grad_output, cache)
    grad_x, *_ = reference.self_attention_backward(grad_output, cache)
    return (grad_x, *(turned(x) @ g for g, _ in parts))


@self_attention_backward.mistake("takes x from another item of the batch", reread="A check that is blind")
def x_of_another(grad_output, cache):
    """The gradients of the projections pair each sentence's gradient with *another* sentence's x. If the batch is made
    of copies, this does not show; with different sentences all numbers are wrong."""
    x, parts = cache[0], into_the_projections(grad_output, cache)
    grad_x, *_ = reference.self_attention_backward(grad_output, cache)
    return (grad_x, *assemble(shifted(x) if x.ndim > 2 else x, parts)[1:])


@self_attention_backward.mistake("forgets the scale", reread="Attention, walked backwards")
def self_attention_without_scale(grad_output, cache):
    """The factor 1 / sqrt(d_key) is missing on the path through queries and keys: call your `attention_backward`, which
    has it."""
    return assemble(cache[0], into_the_projections(grad_output, cache, scale_forgotten))


@self_attention_backward.mistake(
    "treats the softmax's Jacobian as diagonal", reread="The softmax Jacobian, and why one never builds it"
)
def self_attention_with_a_diagonal_jacobian(grad_output, cache):
    """The path through queries and keys uses s(1 - s) for the softmax. So w_value's gradient is right, but grad_x and
    the gradients of w_query and w_key are not. Call your `attention_backward`."""
    return assemble(cache[0], into_the_projections(grad_output, cache, attention_with_a_diagonal_jacobian))


@self_attention_backward.mistake("builds the gradient of w_key from the values", reread="Attention, walked backwards")
def w_key_from_values(grad_output, cache):
    """The gradient of w_key multiplies by the values where the queries belong; everything else is right. A score is a
    query times a key, and no value takes part in it."""
    _, grad_keys, _ = keys_from_values(grad_output, cache[4])
    return instead(grad_output, cache, grad_w_key=as_rows(cache[0]).T @ as_rows(grad_keys))


@self_attention_backward.mistake("takes the loss for a plain sum", reread="The chain rule, path by path")
def self_attention_of_ones(grad_output, cache):
    """Your gradients are those of the sum of all outputs, whatever grad_output is: start from grad_output."""
    return reference.self_attention_backward(np.ones_like(grad_output), cache)


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
