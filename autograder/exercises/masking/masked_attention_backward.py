"""masked_attention_backward: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.masking.shared import roles, scaled_scores, with_empty_row
from solutions import masking as reference
from solutions.attention import softmax
from solutions.backward import attention_backward, softmax_backward

masked_attention_backward = Exercise(
    reference.masked_attention_backward,
    outputs={"grad_queries": "... T_query d_key", "grad_keys": "... T_key d_key", "grad_values": "... T_key d_value"},
    order=("grad_values", "grad_queries", "grad_keys"),
    section="Backwards through a mask",
)


def attended(draw, n_batch_axes=0, dtype=np.float64, empty=False, **sizes):
    """A random cotangent, and the cache as the forward pass leaves it."""
    inputs = roles(draw, n_batch_axes, dtype, **sizes)
    if empty:
        inputs["mask"] = with_empty_row(inputs["mask"])
    output, cache = reference.masked_attention(**inputs)
    return {"grad_output": draw.normal(*output.shape, dtype=dtype), "cache": cache}


@masked_attention_backward.cases("the idea", points=1)
def _(draw):
    yield "one sentence", attended(draw)
    yield "as many queries as keys", attended(draw, T_query=4, T_key=4)


@masked_attention_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", attended(draw, 1)
    yield "two batch axes", attended(draw, 2)


@masked_attention_backward.cases("queries that see nothing, float32 and edge cases", points=1)
def _(draw):
    yield "queries that see nothing", attended(draw, 1, empty=True)
    yield "float32", attended(draw, 1, dtype=np.float32, empty=True)
    for size in ("T_query", "T_key", "d_value"):
        yield f"{size} = 1", attended(draw, 1, **{size: 1})


def from_scores(grad_scores, grad_output, cache, scale=None):
    """The three gradients, once that of the scaled scores is known."""
    queries, keys, _, weights = cache
    scale = 1 / math.sqrt(keys.shape[-1]) if scale is None else scale
    turned = grad_scores.swapaxes(-1, -2)
    return grad_scores @ keys * scale, turned @ queries * scale, weights.swapaxes(-1, -2) @ grad_output


def grad_weights_of(grad_output, cache):
    return grad_output @ cache[2].swapaxes(-1, -2)


@masked_attention_backward.mistake("puts minus infinity into the gradient")
def infinite_gradient(grad_output, cache):
    """-inf was the *score* of a hidden entry; its *gradient* is 0, since no change of what is hidden changes the
    output. With -inf in it, every product becomes infinite or NaN."""
    grad_scores = softmax_backward(grad_weights_of(grad_output, cache), cache[-1])
    hidden = np.where(cache[-1] > 0, grad_scores, -np.inf).astype(grad_scores.dtype)
    return from_scores(hidden, grad_output, cache)


@masked_attention_backward.mistake("computes the weights anew, without the mask")
def weights_unmasked(grad_output, cache):
    """The backward pass makes its own weights, from queries and keys, and the mask is not in them: gradients flow to
    keys and values that no query saw. The cache holds the weights that were used."""
    queries, keys, values, _ = cache
    return attention_backward(grad_output, (queries, keys, values, softmax(scaled_scores(queries, keys))))


@masked_attention_backward.mistake("renormalises the weights of rows that see nothing")
def renormalised_backward(grad_output, cache):
    """The weights are divided by their sum once more. They add up to one already, except in a row that sees nothing:
    there 0/0 is NaN. Use the weights as the cache holds them."""
    *inputs, weights = cache
    return attention_backward(grad_output, (*inputs, weights / weights.sum(axis=-1, keepdims=True)))


@masked_attention_backward.mistake("cuts off every key that is hidden from someone")
def cut_off(grad_output, cache):
    """A key that *some* query may not see loses its gradient from all of them. A mask is about pairs: the key still
    owes its gradient to each query that did see it."""
    grad_queries, grad_keys, grad_values = attention_backward(grad_output, cache)
    open_to_all = (cache[-1] > 0).all(axis=-2)[..., None]
    return grad_queries, grad_keys * open_to_all, grad_values * open_to_all


@masked_attention_backward.mistake("lets the hidden entries into the row's average")
def unweighted_average(grad_output, cache):
    """In the softmax's backward the row's average is weighted by the row's weights, so that hidden entries do not
    count. You subtract the plain mean over all keys, hidden ones too."""
    grad_weights = grad_weights_of(grad_output, cache)
    centred = grad_weights - grad_weights.mean(axis=-1, keepdims=True)
    return from_scores(cache[-1] * centred, grad_output, cache)


@masked_attention_backward.mistake("treats the softmax's Jacobian as diagonal")
def diagonal_jacobian(grad_output, cache):
    """Softmax mixes a whole row, masked or not: the gradient of one score depends on what arrives at all entries that
    the query sees. a(1 - a) is only the diagonal."""
    weights = cache[-1]
    return from_scores(grad_weights_of(grad_output, cache) * weights * (1 - weights), grad_output, cache)


@masked_attention_backward.mistake("treats the softmax's Jacobian as diagonal, and forgets the scale")
def diagonal_without_scale(grad_output, cache):
    """Two things at once in the gradients of queries and keys: a(1 - a) is only the diagonal of the softmax's Jacobian,
    and the factor one over the square root of d_key is missing."""
    weights = cache[-1]
    grad_scores = grad_weights_of(grad_output, cache) * weights * (1 - weights)
    return from_scores(grad_scores, grad_output, cache, scale=1)


@masked_attention_backward.mistake("masks what arrives, and forgets the softmax")
def mask_instead_of_softmax(grad_output, cache):
    """The gradient of the weights, with zeros where something is hidden, is taken for the gradient of the scores. The
    mask does not replace the softmax: its backward, weights times what arrives less its weighted average, is still to
    come."""
    masked = np.where(cache[-1] > 0, grad_weights_of(grad_output, cache), 0)
    return from_scores(masked, grad_output, cache)


@masked_attention_backward.mistake("forgets the scale")
def scale_forgotten(grad_output, cache):
    """The gradients of queries and keys lack the factor one over the square root of d_key: the mask has not changed
    that."""
    grad_scores = softmax_backward(grad_weights_of(grad_output, cache), cache[-1])
    return from_scores(grad_scores, grad_output, cache, scale=1)


@masked_attention_backward.mistake("scales the queries' gradient only")
def keys_unscaled(grad_output, cache):
    """The queries' gradient has the factor one over the square root of d_key, the keys' has not. It belongs to the
    scores, and both got their gradient through them."""
    grad_queries, grad_keys, grad_values = attention_backward(grad_output, cache)
    return grad_queries, grad_keys * math.sqrt(cache[1].shape[-1]), grad_values


@masked_attention_backward.mistake("scales the keys' gradient only")
def queries_unscaled(grad_output, cache):
    """The keys' gradient has the factor one over the square root of d_key, the queries' has not. It belongs to the
    scores, and both got their gradient through them."""
    grad_queries, grad_keys, grad_values = attention_backward(grad_output, cache)
    return grad_queries * math.sqrt(cache[1].shape[-1]), grad_keys, grad_values


@masked_attention_backward.mistake("takes the scale from the gradient that arrives")
def scaled_by_d_value(grad_output, cache):
    """You divide by the root of d_value, the last axis of grad_output. The forward pass divided the scores by the root
    of d_key, and the mask has not changed that."""
    grad_scores = softmax_backward(grad_weights_of(grad_output, cache), cache[-1])
    return from_scores(grad_scores, grad_output, cache, scale=1 / math.sqrt(grad_output.shape[-1]))


@masked_attention_backward.mistake("exchanges the gradients of queries and keys")
def queries_and_keys_exchanged(grad_output, cache):
    """The gradients of queries and keys stand in each other's place. With as many queries as keys the shapes agree, and
    nothing complains. Return queries, keys, values, the order of the forward's arguments."""
    grad_queries, grad_keys, grad_values = attention_backward(grad_output, cache)
    return grad_keys, grad_queries, grad_values


@masked_attention_backward.mistake("hands softmax's way back its arguments in the wrong order")
def softmax_arguments_exchanged(grad_output, cache):
    """The weights stand where their gradient belongs, and the gradient where the weights do: both have one shape, so
    nothing complains. It is softmax_backward(grad_weights, weights)."""
    return from_scores(softmax_backward(cache[-1], grad_weights_of(grad_output, cache)), grad_output, cache)


@masked_attention_backward.mistake("takes the loss for a plain sum")
def ones_for_the_loss(grad_output, cache):
    """Your gradients are those of the sum of all outputs, whatever grad_output says: it tells you how the loss depends
    on each output. Start from it."""
    return attention_backward(np.ones_like(grad_output), cache)


@masked_attention_backward.equivalent
def the_long_way(grad_output, cache):
    grad_scores = softmax_backward(grad_weights_of(grad_output, cache), cache[-1])
    return from_scores(np.where(cache[-1] > 0, grad_scores, 0), grad_output, cache)


@masked_attention_backward.equivalent
def by_einsum(grad_output, cache):
    queries, keys, values, weights = cache
    arriving = np.einsum("...iv,...jv->...ij", grad_output, values)
    average = np.einsum("...ij,...ij->...i", weights, arriving)[..., None]
    grad_scores = weights * (arriving - average) * keys.shape[-1] ** -0.5
    return (
        np.einsum("...ij,...jd->...id", grad_scores, keys),
        np.einsum("...ij,...id->...jd", grad_scores, queries),
        np.einsum("...ij,...iv->...jv", weights, grad_output),
    )


@masked_attention_backward.equivalent
def query_by_query(grad_output, cache):
    queries, keys, values, weights = cache
    grad_queries, grad_keys, grad_values = (np.zeros_like(array) for array in (queries, keys, values))
    for i in range(queries.shape[-2]):
        row = (queries[..., i : i + 1, :], keys, values, weights[..., i : i + 1, :])
        asked, found, given = attention_backward(grad_output[..., i : i + 1, :], row)
        grad_queries[..., i : i + 1, :] = asked
        grad_keys += found
        grad_values += given
    return grad_queries, grad_keys, grad_values
