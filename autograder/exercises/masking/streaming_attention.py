import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.masking.streaming import all_scores, block_of_scores, stream
from solutions import masking as reference

streaming_attention = Exercise(
    reference.streaming_attention,
    outputs={"output": "... T_query d_value", "log_total": "... T_query 1"},
    order=("log_total", "output"),
    section="Attention in blocks",
)
wrong = short_mistakes(streaming_attention)


@streaming_attention.cases("the idea", points=2)
def _(draw):
    yield "blocks of two", stream(draw, size=2, T_key=8, T_query=5)
    yield "one key in each block", stream(draw, size=1)
    yield "one block for all keys", stream(draw, size=9)


@streaming_attention.cases("any size, any batch", points=1)
def _(draw):
    yield "a shorter block at the end", stream(draw, size=3, T_key=8)
    yield "two batch axes", stream(draw, batch=(2, 3), size=2, T_key=7)
    yield "float32", stream(draw, batch=(2,), size=3, T_key=7, dtype=np.float32)


@streaming_attention.cases("a causal mask", points=1)
def _(draw):
    yield "one sentence", stream(draw, size=2, T_key=7, causal=True)
    yield "a batch", stream(draw, batch=(2,), size=3, T_key=8, causal=True)


@streaming_attention.cases("large scores", points=1)
def _(draw):
    inputs = stream(draw, size=2, T_key=8)
    yield "scores in the thousands", inputs | {"queries": 100 * inputs["queries"], "keys": 100 * inputs["keys"]}
    rising = np.linspace(1, 60, 8)[:, None] * np.ones((8, 4))
    inputs = stream(draw, size=2, T_key=8, T_query=5, d_key=4)
    signs = np.array([[1.0], [-1.0], [100.0], [-100.0], [10.0]])
    yield (
        "scores that rise and fall, slowly and steeply",
        inputs
        | {
            "queries": signs * np.ones((5, 4)),
            "keys": rising + inputs["keys"],
        },
    )
    yield "scores far below zero", inputs | {"queries": -2000 * np.ones((5, 4)), "keys": 20 + rising[::-1]}


def streamed(queries, keys, values, size, causal=False, *, scores_of=block_of_scores, **put):
    """Run attention in blocks with single steps replaced.

    put: `shrink` and `shrink_total`, functions of the old and the new maximum; `highest`, the maximum of a block's
    scores; `start`, the maximum before the first block; `stop`, the number of keys to read; `higher`, the new maximum
    from the old one and that of the block; `enter`, the factor of a new block from its own and the new maximum.
    """
    shrink = put.get("shrink", lambda old, new: np.exp(old - new))
    shrink_total = put.get("shrink_total", shrink)
    highest = put.get("highest", lambda scores: scores.max(axis=-1, keepdims=True))
    higher, enter = put.get("higher", np.maximum), put.get("enter", lambda own, new: 1)
    top = np.full_like(queries[..., :1], put.get("start", -np.inf))
    total, output = np.zeros_like(top), np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for start in range(0, put.get("stop", keys.shape[-2]), size):
        scores = scores_of(queries, keys, start, size, causal).astype(queries.dtype)
        new_top = higher(top, highest(scores))
        strengths = np.exp(scores - new_top) * enter(highest(scores), new_top)
        total = shrink_total(top, new_top) * total + strengths.sum(axis=-1, keepdims=True)
        output = shrink(top, new_top) * output + strengths @ values[..., start : start + size, :]
        top = new_top
    return output / total, top + np.log(total)


def nothing_shrinks(old, new):
    return np.ones_like(old)


wrong("not_corrected", streamed, shrink=nothing_shrinks)("""
    does not correct what it has when the maximum rises
    You add the exponentials of all blocks as they are, but each block subtracts a different maximum. When the maximum
    rises from m to m', multiply the sum and the output so far by e^(m - m').""")
wrong("total_not_corrected", streamed, shrink_total=nothing_shrinks)("""
    corrects the output, but not the sum
    Your running sum keeps exponentials with older maxima. Multiply it by the same factor as the running output.""")
wrong("output_not_corrected", streamed, shrink=nothing_shrinks, shrink_total=lambda old, new: np.exp(old - new))("""
    corrects the sum, but not the output
    log_total is right, but your running output keeps exponentials with older maxima. Multiply it by the same factor as
    the running sum.""")


@streaming_attention.mistake("corrects upside down")
def corrected_upside_down(queries, keys, values, size, causal=False):
    """Your correction is upside down: its exponent is the new maximum minus the old one. At the first block it is
    infinite, and infinity times zero is NaN. Multiply by the exponential of the old maximum minus the new one, so that
    the sums so far shrink when the maximum rises."""
    with np.errstate(over="ignore", invalid="ignore"):
        return streamed(queries, keys, values, size, causal, shrink=lambda old, new: np.exp(new - old))


@streaming_attention.mistake("takes the maximum of each block alone")
def maximum_of_the_block(queries, keys, values, size, causal=False):
    """Your new maximum is only that of the block, so it may fall. The correction is then above 1. It overflows if the
    scores fall steeply, or if a query sees nothing of a block, whose maximum is minus infinity. Take the larger of the
    old maximum and that of the block."""
    with np.errstate(over="ignore", invalid="ignore"):
        return streamed(queries, keys, values, size, causal, higher=lambda old, own: own)


@streaming_attention.mistake("corrects what it has, but not the new block")
def block_not_corrected(queries, keys, values, size, causal=False):
    """You correct what you have so far, but you subtract the new block's own maximum from its scores. If this maximum
    is lower than the maximum so far, the block counts too much. Subtract the larger of the two instead."""

    def enter(own, new):
        return np.exp(np.where(np.isneginf(own), 0, new - own))

    with np.errstate(over="ignore", invalid="ignore"):
        return streamed(queries, keys, values, size, causal, enter=enter)


@streaming_attention.mistake("averages the outputs of the blocks")
def mean_of_blocks(queries, keys, values, size, causal=False):
    """You apply a softmax to each block, and average the results. A block with low scores then counts as much as a
    block with high scores. Weight each block by its sum of exponentials, with the same maximum for all blocks."""
    output, log_total = [], []
    for start in range(0, keys.shape[-2], size):
        scores = block_of_scores(queries, keys, start, size, causal)
        scores = np.where(np.isneginf(scores).all(-1, keepdims=True), 0, scores)
        top = scores.max(axis=-1, keepdims=True)
        strengths = np.exp(scores - top)
        total = strengths.sum(axis=-1, keepdims=True)
        output.append(strengths / total @ values[..., start : start + size, :])
        log_total.append(top + np.log(total))
    return np.mean(output, axis=0).astype(values.dtype), np.mean(log_total, axis=0).astype(values.dtype)


@streaming_attention.mistake("keeps no maximum")
def no_maximum(queries, keys, values, size, causal=False):
    """The exponential of a large score is infinite, and infinity divided by infinity is NaN. You subtract either
    nothing, or something other than a score. Before you take exponentials, subtract each query's largest score so
    far."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        strengths = np.exp(all_scores(queries, keys, causal)).astype(values.dtype)
        total = strengths.sum(axis=-1, keepdims=True)
        return strengths @ values / total, np.log(total)


wrong("maximum_from_zero", streamed, start=0.0)("""
    begins with a maximum of 0
    Your running maximum begins at 0, so it stays there while all scores of a row are negative. If they are far below 0,
    all their exponentials are 0, and so is their sum. Begin with minus infinity.""")


@streaming_attention.mistake("has one maximum for all queries")
def one_maximum_for_all(queries, keys, values, size, causal=False):
    """You subtract the largest score of the whole block. A query whose scores are all far below it has only
    exponentials of zero left, and zero divided by zero is NaN. Each query has its own maximum, axis=-1 with
    keepdims=True."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return streamed(
            queries, keys, values, size, causal, highest=lambda scores: scores.max(axis=(-2, -1), keepdims=True)
        )


@streaming_attention.mistake("leaves out the shorter block at the end")
def last_block_lost(queries, keys, values, size, causal=False):
    """The keys after the last whole block are missing. Let the blocks start at 0, size, 2 * size, ... as long as there
    are keys. A slice that reaches beyond the end is shorter, without an error."""
    whole = keys.shape[-2] // size * size
    return streamed(queries, keys, values, size, causal, stop=max(whole, 1))


@streaming_attention.mistake("does not scale the scores")
def not_scaled(queries, keys, values, size, causal=False):
    """Your scores are plain dot products. Divide them by the square root of d_key, in every block."""
    return streamed(queries * math.sqrt(keys.shape[-1]), keys, values, size, causal)


@streaming_attention.mistake("does not divide by the sum")
def not_divided(queries, keys, values, size, causal=False):
    """Your output is the sum of values times exponentials. Divide it by the sum of the exponentials, once, at the
    end."""
    output, log_total = reference.streaming_attention(queries, keys, values, size, causal)
    top = all_scores(queries, keys, causal).max(axis=-1, keepdims=True)
    return output * np.exp(log_total - top).astype(output.dtype), log_total


@streaming_attention.mistake("leaves the maximum out of log_total")
def without_the_maximum(queries, keys, values, size, causal=False):
    """Your log_total is only the logarithm of the running sum. You subtracted the maximum from every score, so add it
    again."""
    output, log_total = reference.streaming_attention(queries, keys, values, size, causal)
    top = all_scores(queries, keys, causal).max(axis=-1, keepdims=True)
    return output, (log_total - top).astype(output.dtype)


@streaming_attention.mistake("ignores `causal`")
def sees_the_future(queries, keys, values, size, causal=False):
    """With causal=True, a query at position i sees the keys at positions up to i. You let it see all keys."""
    return reference.streaming_attention(queries, keys, values, size)


@streaming_attention.mistake("counts the positions of each block from zero")
def columns_from_zero(queries, keys, values, size, causal=False):
    """Your causal mask is right in the first block, but allows too much in later blocks. The first key of a block is at
    position `start`, not at 0."""

    def scores_of(queries, keys, start, size, causal):
        return block_of_scores(queries, keys, start, size, causal, first=0)

    return streamed(queries, keys, values, size, causal, scores_of=scores_of)


@streaming_attention.mistake("returns float64 whatever comes in")
def in_float64(queries, keys, values, size, causal=False):
    """Your outputs are float64 although the inputs are float32. Arrays from np.zeros and np.full are float64 unless you
    name a dtype."""
    output, log_total = reference.streaming_attention(queries, keys, values, size, causal)
    return output.astype(np.float64), log_total.astype(np.float64)


@streaming_attention.mistake("multiplies what a block adds by the block's sum")
def block_sum_twice(queries, keys, values, size, causal=False):
    """You multiply what each block adds to the output by the sum of the block's exponentials, and divide by the
    total at the end. Add the exponentials times the values without this factor: the one division at the end is
    enough."""
    top = np.full_like(queries[..., :1], -np.inf)
    total, output = np.zeros_like(top), np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for start in range(0, keys.shape[-2], size):
        scores = block_of_scores(queries, keys, start, size, causal).astype(queries.dtype)
        new_top = np.maximum(top, scores.max(axis=-1, keepdims=True))
        shrink, strengths = np.exp(top - new_top), np.exp(scores - new_top)
        block_sum = strengths.sum(axis=-1, keepdims=True)
        total = shrink * total + block_sum
        output = shrink * output + block_sum * (strengths @ values[..., start : start + size, :])
        top = new_top
    return output / total, top + np.log(total)


@streaming_attention.equivalent
def all_at_once(queries, keys, values, size, causal=False):
    scores = all_scores(queries, keys, causal).astype(queries.dtype)
    top = scores.max(axis=-1, keepdims=True)
    strengths = np.exp(scores - top)
    total = strengths.sum(axis=-1, keepdims=True)
    return [strengths @ values / total, top + np.log(total)]


@streaming_attention.equivalent
def maximum_first(queries, keys, values, size, causal=False):
    """Make two passes over the keys: one for the maximum, one for the rest."""
    starts = range(0, keys.shape[-2], size)
    tops = [block_of_scores(queries, keys, start, size, causal).max(-1, keepdims=True) for start in starts]
    top = np.max(tops, axis=0).astype(queries.dtype)
    total = output = 0
    for start in starts:
        strengths = np.exp(block_of_scores(queries, keys, start, size, causal).astype(queries.dtype) - top)
        total = total + strengths.sum(-1, keepdims=True)
        output = output + strengths @ values[..., start : start + size, :]
    return output / total, top + np.log(total)


@streaming_attention.equivalent
def normalised_all_along(queries, keys, values, size, causal=False):
    """Divide the output in every block, and carry the logarithm of the sum along."""
    log_total = np.full_like(queries[..., :1], -np.inf)
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for start in range(0, keys.shape[-2], size):
        scores = block_of_scores(queries, keys, start, size, causal).astype(queries.dtype)
        new = np.logaddexp(log_total, np.logaddexp.reduce(scores, axis=-1, keepdims=True))
        output = np.exp(log_total - new) * output + np.exp(scores - new) @ values[..., start : start + size, :]
        log_total = new
    return output, log_total
