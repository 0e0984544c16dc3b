"""cross_attention_backward: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.cross.shared import square, turned, two_sequences
from autograder.exercises.multihead.shared import as_rows
from solutions import cross as reference
from solutions.backward import attention_backward, linear_backward

cross_attention_backward = Exercise(
    reference.cross_attention_backward,
    outputs={
        "grad_x": "... T d_model",
        "grad_memory": "... T_memory d_memory",
        "grad_w_query": "d_model d_key",
        "grad_w_key": "d_memory d_key",
        "grad_w_value": "d_memory d_value",
    },
    order=("grad_w_value", "grad_w_query", "grad_w_key", "grad_x", "grad_memory"),
    section="Two gradients come back",
)


def asked(draw, inputs):
    """A random cotangent, and the cache of the forward pass."""
    output, cache = reference.cross_attention(**inputs)
    return {"grad_output": draw.normal(*output.shape, dtype=output.dtype), "cache": cache}


@cross_attention_backward.cases("the idea", points=3)
def _(draw):
    yield "one sentence", asked(draw, two_sequences(draw) | {"mask": np.ones((1, 1), bool)})
    yield "two sequences of one length", asked(draw, square(draw))


@cross_attention_backward.cases("batches", points=1)
def _(draw):
    yield "one batch axis", asked(draw, two_sequences(draw, 1))
    yield "two batch axes", asked(draw, two_sequences(draw, 2))


@cross_attention_backward.cases("masks and float32", points=1)
def _(draw):
    inputs = two_sequences(draw, 1)
    inputs["mask"][0] = False
    yield "a memory that is padding throughout", asked(draw, inputs)
    yield "float32", asked(draw, two_sequences(draw, 1, np.float32))


def gradients(grad_output, cache, attention_back=attention_backward, **kept):
    """The gradients, with parts left out (keys=0, values=0) or taken from the wrong input (query_of, key_of,
    value_of)."""
    x, memory, w_query, w_key, w_value, attention_cache = cache
    grad_queries, grad_keys, grad_values = attention_back(grad_output, attention_cache)
    grad_x, grad_w_query, _ = linear_backward(grad_queries, (kept.get("query_of", x), w_query))
    from_keys, grad_w_key, _ = linear_backward(grad_keys, (kept.get("key_of", memory), w_key))
    from_values, grad_w_value, _ = linear_backward(grad_values, (kept.get("value_of", memory), w_value))
    grad_memory = kept.get("keys", 1) * from_keys + kept.get("values", 1) * from_values
    return grad_x, grad_memory, grad_w_query, grad_w_key, grad_w_value


@cross_attention_backward.mistake("swaps the roles of x and the memory")
def roles_swapped(grad_output, cache):
    """The gradients of x and of the memory stand in each other's place. x was used once, for the queries; the memory
    twice, for keys and values. A toy with equal shapes does not notice."""
    grad_x, grad_memory, *rest = gradients(grad_output, cache)
    return grad_memory, grad_x, *rest


@cross_attention_backward.mistake("gives the keys' gradient to x")
def keys_to_x(grad_output, cache):
    """What comes back through the keys is added to x. The keys were made from the memory, so it belongs there."""
    x, memory, _, w_key, _, attention_cache = cache
    from_keys = attention_backward(grad_output, attention_cache)[1] @ w_key.T
    grad_x, grad_memory, *rest = gradients(grad_output, cache, keys=0)
    return grad_x + from_keys, grad_memory, *rest


@cross_attention_backward.mistake("memory gradient through the values only")
def memory_through_values(grad_output, cache):
    """The memory gets its gradient through the values only. It was used twice: as keys it also decided *where* the
    decoder looks. Without this term the encoder never learns to be found."""
    return gradients(grad_output, cache, keys=0)


@cross_attention_backward.mistake("memory gradient through the keys only")
def memory_through_keys(grad_output, cache):
    """The memory gets its gradient through the keys only. It was used twice: as values it is what the decoder is
    handed. Add both."""
    return gradients(grad_output, cache, values=0)


@cross_attention_backward.mistake("makes the gradients of w_key and w_value from x")
def weights_from_x(grad_output, cache):
    """The gradient of a weight is its input, transposed, times the gradient of its output. The input of w_key and
    w_value was the memory; you take x. It fits only where both have the same shape."""
    return gradients(grad_output, cache, key_of=cache[0], value_of=cache[0])


@cross_attention_backward.mistake("makes the gradient of w_query from the memory")
def query_from_memory(grad_output, cache):
    """The gradient of w_query is built with the memory. The queries were made from x."""
    return gradients(grad_output, cache, query_of=cache[1])


@cross_attention_backward.mistake("forgets the scale")
def scale_forgotten(grad_output, cache):
    """The factor 1/sqrt(d_key) is missing on the way back through the scores: the gradients of queries and keys are too
    large by the root of d_key."""

    def unscaled(grad, attention_cache):
        grad_queries, grad_keys, grad_values = attention_backward(grad, attention_cache)
        root = math.sqrt(grad_keys.shape[-1])
        return grad_queries * root, grad_keys * root, grad_values

    return gradients(grad_output, cache, unscaled)


@cross_attention_backward.mistake("does not transpose the scores' gradient for the keys")
def scores_not_turned(grad_output, cache):
    """For the keys the gradient of the scores must be transposed: dK = dS^T Q / sqrt(d_key). Yours is (T, T_memory)
    where (T_memory, T) is needed, and fits only a square."""

    def straight(grad, attention_cache):
        queries, keys, values, weights = attention_cache
        grad_queries, _, grad_values = attention_backward(grad, attention_cache)
        grad_weights = grad @ turned(values)
        grad_scores = weights * (grad_weights - (grad_weights * weights).sum(axis=-1, keepdims=True))
        return grad_queries, grad_scores @ queries / math.sqrt(keys.shape[-1]), grad_values

    return gradients(grad_output, cache, straight)


@cross_attention_backward.mistake("averages the weights' gradients over the batch")
def batch_averaged(grad_output, cache):
    """The gradients of the weights are divided by the number of sentences. The loss adds up, so its gradient adds
    up."""
    n = math.prod(grad_output.shape[:-2])
    grad_x, grad_memory, *grad_weights = gradients(grad_output, cache)
    return grad_x, grad_memory, *(grad / n for grad in grad_weights)


@cross_attention_backward.mistake("averages the memory's two gradients")
def memory_averaged(grad_output, cache):
    """You take the mean of the two gradients that come back to the memory. Where an array was used twice, its gradients
    add up."""
    return gradients(grad_output, cache, keys=0.5, values=0.5)


@cross_attention_backward.mistake("treats the softmax Jacobian as diagonal")
def diagonal_jacobian(grad_output, cache):
    """Back through the softmax you multiply by weights * (1 - weights). Each score moves every weight of its row, so
    the row's mean slope is taken off first."""

    def diagonal(grad, attention_cache):
        queries, keys, values, weights = attention_cache
        grad_scores = grad @ turned(values) * weights * (1 - weights) / math.sqrt(keys.shape[-1])
        return grad_scores @ keys, turned(grad_scores) @ queries, turned(weights) @ grad

    return gradients(grad_output, cache, diagonal)


@cross_attention_backward.mistake("keeps the batch axes in the weights' gradients")
def not_added_up(grad_output, cache):
    """Each sentence has its own gradient of the three weights. All of them used the same weights, so the gradients add
    up over every batch axis, to the weight's own shape."""
    x, memory, _, _, _, attention_cache = cache
    grad_x, grad_memory, *_ = gradients(grad_output, cache)
    pairs = zip((x, memory, memory), attention_backward(grad_output, attention_cache), strict=True)
    return grad_x, grad_memory, *(turned(came_in) @ grad for came_in, grad in pairs)


@cross_attention_backward.equivalent
def by_einsum(grad_output, cache):
    x, memory, w_query, w_key, w_value, (queries, keys, values, weights) = cache
    to_weights = np.einsum("...qv,...mv->...qm", grad_output, values)
    scores = weights * (to_weights - np.einsum("...qm,...qm->...q", weights, to_weights)[..., None])
    scores = scores / math.sqrt(keys.shape[-1])
    to_queries, to_keys = (
        np.einsum("...qm,...mk->...qk", scores, keys),
        np.einsum("...qm,...qk->...mk", scores, queries),
    )
    to_values = np.einsum("...qm,...qv->...mv", weights, grad_output)
    return (
        to_queries @ w_query.T,
        to_values @ w_value.T + to_keys @ w_key.T,
        as_rows(x).T @ as_rows(to_queries),
        as_rows(memory).T @ as_rows(to_keys),
        as_rows(memory).T @ as_rows(to_values),
    )


@cross_attention_backward.equivalent
def from_one_product(grad_output, cache):
    x, memory, w_query, w_key, w_value, attention_cache = cache
    grads = attention_backward(grad_output, attention_cache)
    both = np.concatenate(grads[1:], axis=-1)
    grad_memory = both @ np.concatenate([w_key, w_value], axis=1).T
    fused = as_rows(memory).T @ as_rows(both)
    d_key = w_key.shape[1]
    grad_w_query = as_rows(x).T @ as_rows(grads[0])
    return grads[0] @ w_query.T, grad_memory, grad_w_query, fused[:, :d_key], fused[:, d_key:]


@cross_attention_backward.equivalent
def sentence_by_sentence(grad_output, cache):
    x, memory, *weights, arrays = cache
    total = [np.zeros_like(array) for array in (x, memory, *weights)]
    for at in np.ndindex(x.shape[:-2]):
        one = (x[at], memory[at], *weights, tuple(array[at] for array in arrays))
        grad_x, grad_memory, *grads = gradients(grad_output[at], one)
        total[0][at], total[1][at] = grad_x, grad_memory
        for sum_so_far, grad in zip(total[2:], grads, strict=True):
            sum_so_far += grad
    return total
