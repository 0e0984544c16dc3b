import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.masking.streaming import all_scores, block_of_scores, stream
from solutions import masking as reference

streaming_attention_backward = Exercise(
    reference.streaming_attention_backward,
    outputs={
        "grad_queries": "... T_query d_key",
        "grad_keys": "... T_key d_key",
        "grad_values": "... T_key d_value",
    },
    order=("grad_values", "grad_queries", "grad_keys"),
    section="The way back, block by block",
)
wrong = short_mistakes(streaming_attention_backward)


def walked(draw, **options):
    """Return a random cotangent, and the inputs and outputs of streaming_attention."""
    inputs = stream(draw, **options)
    output, log_total = reference.streaming_attention(**inputs)
    cache = (inputs["queries"], inputs["keys"], inputs["values"], output, log_total)
    grad_output = draw.normal(*output.shape, dtype=output.dtype)
    return {"grad_output": grad_output, "cache": cache, "size": inputs["size"], "causal": inputs["causal"]}


@streaming_attention_backward.cases("the idea", points=3)
def _(draw):
    yield "blocks of two", walked(draw, size=2, T_key=8, T_query=5)
    yield "one key in each block", walked(draw, size=1)
    yield "one block for all keys", walked(draw, size=9)


@streaming_attention_backward.cases("any size, any batch", points=1)
def _(draw):
    yield "a shorter block at the end", walked(draw, size=3, T_key=8)
    yield "two batch axes", walked(draw, batch=(2, 3), size=2, T_key=7)
    yield "float32", walked(draw, batch=(2,), size=3, T_key=7, dtype=np.float32)


@streaming_attention_backward.cases("a causal mask", points=1)
def _(draw):
    yield "one sentence", walked(draw, size=2, T_key=7, causal=True)
    yield "a batch", walked(draw, batch=(2,), size=3, T_key=8, causal=True)


def turned(array):
    return array.swapaxes(-1, -2)


def gradients(grad_output, cache, size, causal=False, *, weigh=None, sums=None, root=None):
    """Return the three gradients, computed block by block with a step replaced.

    weigh: a function of the scores of a block and of log_total. sums: a function of the weights and their gradients in
    a block that returns the sums to subtract. root: the divisor of the scores' gradients.
    """
    queries, keys, values, output, log_total = cache
    of_rows = np.sum(grad_output * output, axis=-1, keepdims=True)
    grads = [np.zeros_like(array) for array in (queries, keys, values)]
    for start in range(0, keys.shape[-2], size):
        block = np.s_[..., start : start + size, :]
        scores = block_of_scores(queries, keys, start, size, causal).astype(queries.dtype)
        weights = weigh(scores, log_total) if weigh else np.exp(scores - log_total)
        grad_weights = grad_output @ turned(values[block])
        subtracted = sums(weights, grad_weights) if sums else of_rows
        grad_scores = weights * (grad_weights - subtracted) / (root or math.sqrt(keys.shape[-1]))
        grads[0] += grad_scores @ keys[block]
        grads[1][block] = turned(grad_scores) @ queries
        grads[2][block] = turned(weights) @ grad_output
    return tuple(grads)


@streaming_attention_backward.mistake("sums each row over one block only")
def sums_of_the_block(grad_output, cache, size, causal=False):
    """You subtract the sum of weights times their gradients over the keys of *one block*. The softmax of a row runs
    over all blocks. The whole sum is the dot product of grad_output with the output, one number for each query."""

    def sums(weights, grad_weights):
        return np.sum(weights * grad_weights, axis=-1, keepdims=True)

    return gradients(grad_output, cache, size, causal, sums=sums)


wrong("nothing_subtracted", gradients, sums=lambda weights, grad_weights: 0)("""
    subtracts nothing
    The gradient of the scores lacks its second term. If one score rises, all other weights of its row fall, in other
    blocks, too. Subtract the row's sum of weights times their gradients: the dot product of grad_output with the
    output.""")


@streaming_attention_backward.mistake("normalises within each block")
def softmax_of_the_block(grad_output, cache, size, causal=False):
    """Your weights add up to one in each block, so the whole row adds up to more than one. Take the exponential of
    scores minus log_total, which counts all keys."""

    def weigh(scores, log_total):
        nothing_seen = np.isneginf(scores).all(axis=-1, keepdims=True)
        strengths = np.exp(scores - np.where(nothing_seen, 0, scores.max(axis=-1, keepdims=True)))
        return strengths / np.where(nothing_seen, 1, strengths.sum(axis=-1, keepdims=True))

    return gradients(grad_output, cache, size, causal, weigh=weigh)


wrong("divided_by_the_logarithm", gradients, weigh=lambda scores, log_total: np.exp(scores) / log_total)("""
    divides the weights by log_total
    log_total is the *logarithm* of the sum. Subtract it from the scores before you take the exponential.""")
wrong("not_scaled", gradients, root=1)("""
    forgets the scale on the way to queries and keys
    grad_values is right, and grad_queries and grad_keys are too large. The forward pass divided the scores by the
    square root of d_key, so divide their gradients by it, too.""")


@streaming_attention_backward.mistake("keeps the queries' gradient of the last block only")
def queries_overwritten(grad_output, cache, size, causal=False):
    """grad_queries comes only from the last block. Every query attends to the keys of all blocks, so add up the
    gradients from all of them. Only keys and values belong to one block."""
    queries, keys, values, output, log_total = cache
    start = (keys.shape[-2] - 1) // size * size
    scores = block_of_scores(queries, keys, start, size, causal).astype(queries.dtype)
    sums = np.sum(grad_output * output, axis=-1, keepdims=True)
    grad_scores = np.exp(scores - log_total) * (grad_output @ turned(values[..., start:, :]) - sums)
    right = reference.streaming_attention_backward(grad_output, cache, size, causal)
    return grad_scores @ keys[..., start:, :] / math.sqrt(keys.shape[-1]), *right[1:]


wrong("sees_the_future", lambda grad_output, cache, size, causal=False: gradients(grad_output, cache, size))("""
    ignores `causal`
    With causal=True, you give weight to keys after the query, and gradients go to them. Mask the scores here as the
    forward pass did.""")


@streaming_attention_backward.mistake("leaves out the shorter block at the end")
def last_block_lost(grad_output, cache, size, causal=False):
    """The keys after the last whole block get no gradient. Let the blocks start at 0, size, 2 * size, ... as long as
    there are keys."""
    queries, keys, values, output, log_total = cache
    whole = max(keys.shape[-2] // size, 1) * size
    cut = (queries, keys[..., :whole, :], values[..., :whole, :], output, log_total)
    grad_queries, *grads = reference.streaming_attention_backward(grad_output, cut, size, causal)
    lost = [(0, 0)] * (keys.ndim - 2) + [(0, keys.shape[-2] - cut[1].shape[-2]), (0, 0)]
    return grad_queries, *(np.pad(grad, lost) for grad in grads)


@streaming_attention_backward.mistake("adds the row's sum")
def sums_added(grad_output, cache, size, causal=False):
    """The second term of the scores' gradient has the wrong sign: subtract the dot product of grad_output with the
    output."""
    of_rows = np.sum(grad_output * cache[3], axis=-1, keepdims=True)
    return gradients(grad_output, cache, size, causal, sums=lambda weights, grad_weights: -of_rows)


@streaming_attention_backward.mistake("returns the values' gradient in the place of the keys'")
def exchanged(grad_output, cache, size, causal=False):
    """You swap the gradients of keys and values. Return them in the order queries, keys, values."""
    grad_queries, grad_keys, grad_values = reference.streaming_attention_backward(grad_output, cache, size, causal)
    return grad_queries, grad_values, grad_keys


@streaming_attention_backward.equivalent
def all_at_once(grad_output, cache, size, causal=False):
    queries, keys, values, output, log_total = cache
    weights = np.exp(all_scores(queries, keys, causal).astype(queries.dtype) - log_total)
    grad_weights = grad_output @ turned(values)
    sums = (weights * grad_weights).sum(axis=-1, keepdims=True)
    grad_scores = weights * (grad_weights - sums) / math.sqrt(keys.shape[-1])
    return [grad_scores @ keys, turned(grad_scores) @ queries, turned(weights) @ grad_output]


@streaming_attention_backward.equivalent
def sums_block_by_block(grad_output, cache, size, causal=False):
    """Make two passes over the blocks; the first adds up the rows' sums."""
    queries, keys, values, _, log_total = cache
    sums = 0
    for start in range(0, keys.shape[-2], size):
        scores = block_of_scores(queries, keys, start, size, causal).astype(queries.dtype)
        grad_weights = grad_output @ turned(values[..., start : start + size, :])
        sums = sums + (np.exp(scores - log_total) * grad_weights).sum(axis=-1, keepdims=True)
    return gradients(grad_output, cache, size, causal, sums=lambda weights, grad_weights: sums)


@streaming_attention_backward.equivalent
def with_scaled_queries(grad_output, cache, size, causal=False):
    queries, keys, values, output, log_total = cache
    root = math.sqrt(keys.shape[-1])
    sums = np.einsum("...tv,...tv->...t", grad_output, output)[..., None]
    grad_queries, grad_keys, grad_values = np.zeros_like(queries), [], []
    for start in range(0, keys.shape[-2], size):
        k, v = keys[..., start : start + size, :], values[..., start : start + size, :]
        scores = block_of_scores(queries, keys, start, size, causal).astype(queries.dtype)
        weights = np.exp(scores - log_total)
        grad_scores = weights * (np.einsum("...tv,...sv->...ts", grad_output, v) - sums)
        grad_queries += grad_scores @ (k / root)
        grad_keys.append(turned(grad_scores) @ (queries / root))
        grad_values.append(turned(weights) @ grad_output)
    return grad_queries, np.concatenate(grad_keys, axis=-2), np.concatenate(grad_values, axis=-2)
