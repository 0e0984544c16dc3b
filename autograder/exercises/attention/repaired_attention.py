import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.attention.attention import divided_at_the_end, key_by_key
from autograder.exercises.attention.shared import roles, scores_of
from autograder.exercises.attention.softmax import overflowing
from solutions import attention as reference

repaired_attention = Exercise(
    reference.repaired_attention,
    outputs={"output": "... T_query d_value"},
    section="Find the bug",
    solved_by=["attention"],
)
wrong = short_mistakes(repaired_attention)


@repaired_attention.cases("the scale", points=2)
def _(draw):
    yield "one sentence", roles(draw)
    yield "two batch axes", roles(draw, 2)


def of_width_one(draw, first_key, gap, dtype=np.float64):
    """Draw queries, keys and values of width 1, whose scores rise from key to key. The root of every width is 1, so a
    scale in the wrong place changes nothing, and each bug gets an aspect of its own.
    """
    n_batch, T_query, T_key = draw.sizes(3)
    rising = np.arange(T_key) + np.tanh(draw.normal(n_batch, T_key)) / 4
    queries = np.broadcast_to(1.0 + np.arange(T_query), (n_batch, T_query))
    arrays = {"queries": queries, "keys": first_key + gap * rising, "values": draw.normal(n_batch, T_key)}
    return {role: array[..., None].astype(dtype) for role, array in arrays.items()}


@repaired_attention.cases("large scores", points=1)
def _(draw):
    yield "scores in the thousands", of_width_one(draw, 1000, 0.5)
    yield "scores far below zero", of_width_one(draw, -1000, 0.5)


@repaired_attention.cases("float32", points=1)
def _(draw):
    yield "float32", of_width_one(draw, -1, 0.5, dtype=np.float32)


def buggy(queries, keys, values, *, scale_late=False, overflow=False, promote=False, scale=None):
    """Run the published function with some of its three mistakes left in, or with a different scale."""
    scale = math.sqrt(keys.shape[-1]) if scale is None else scale
    scores = scores_of(queries, keys) / (1 if scale_late else scale)
    output = (overflowing(scores) if overflow else reference.softmax(scores)) @ values / (scale if scale_late else 1)
    return output.astype(np.float64) if promote else output


wrong("as_published", buggy, scale_late=True, overflow=True, promote=True)("""
    nothing is fixed yet -> Why divide by the square root of the key width
    All three mistakes are still there. Start with this experiment: make all values 1. An average of ones is 1, but your
    output is not.""")
wrong("scale_and_overflow_left", buggy, scale_late=True, overflow=True, promote=False)("""
    one found: float32 stays float32; two to go -> Why divide by the square root of the key width
    float32 stays float32 now. Next, make all values 1: an average of ones is 1, but your output is not.""")
wrong("scale_and_dtype_left", buggy, scale_late=True, overflow=False, promote=True)("""
    one found: large scores are safe; two to go -> Why divide by the square root of the key width
    Large scores are safe now. Next, make all values 1: an average of ones is 1, but your output is not.""")
wrong("overflow_and_dtype_left", buggy, scale_late=False, overflow=True, promote=True)("""
    one found: the scale is in its place; two to go -> From scores to weights: the softmax
    The scale is in the right place now. Next, multiply the queries by 1000 and look for NaN in the output.""")
wrong("scale_left", buggy, scale_late=True, overflow=False, promote=False)("""
    two found; an average of ones is still not 1 -> Why divide by the square root of the key width
    One mistake is left. Make all values 1: an average of ones is 1, but your output is smaller unless d_key is 1. Which
    operation comes after the division by the sum?""")
wrong("scale_dropped", buggy, scale=1)("""
    the late division is gone, and nothing has come in its place -> Why divide by the square root of the key width
    The division after the softmax is gone, and now you divide nothing by the root of d_key. Divide the scores by it,
    before the softmax.""")
wrong(
    "scale_inverted", lambda queries, keys, values: buggy(queries, keys, values, scale=1 / math.sqrt(keys.shape[-1]))
)("""
    the scores are multiplied by the root of d_key -> Why divide by the square root of the key width
    The scale is in the right place now, before the softmax, but you multiply the scores by the root of d_key, or divide
    them by d_key ** -0.5, which is the same. Divide by the root.""")
wrong(
    "scale_of_the_values", lambda queries, keys, values: buggy(queries, keys, values, scale=math.sqrt(values.shape[-1]))
)("""
    the scores are divided by the root of d_value -> Why divide by the square root of the key width
    The scale is in the right place now, before the softmax, but you take the width of the values. A score is a sum of
    d_key products, so take the width of the keys.""")
wrong("overflow_left", buggy, scale_late=False, overflow=True, promote=False)("""
    two found; large scores still give NaN -> From scores to weights: the softmax
    One mistake is left. Multiply the queries by 1000, and the output contains NaN. Print the running sum after each
    key.""")
wrong("dtype_left", buggy, scale_late=False, overflow=False, promote=True)("""
    two found; float32 still comes back as float64
    One mistake is left: float32 comes back as float64. Print the dtype of each array that you make, and find the first
    float64 array.""")


def in_one_pass(queries, keys, values, *, total_shrinks=True, output_shrinks=True, start=-np.inf):
    """Compute attention key by key with a running maximum, or with a mistake that people make in this method."""
    highest = np.full((*queries.shape[:-1], 1), start, queries.dtype)
    total, output = np.zeros_like(highest), np.zeros((*queries.shape[:-1], values.shape[-1]), queries.dtype)
    for j in range(keys.shape[-2]):
        score = scores_of(queries, keys[..., j : j + 1, :]) / math.sqrt(keys.shape[-1])
        higher = np.maximum(highest, score)
        shrink, strength = np.exp(highest - higher), np.exp(score - higher)
        total = (shrink if total_shrinks else 1) * total + strength
        output = (shrink if output_shrinks else 1) * output + strength * values[..., j : j + 1, :]
        highest = higher
    return output / total


wrong("nothing_shrinks", in_one_pass, total_shrinks=False, output_shrinks=False)("""
    changes the maximum and corrects neither sum -> From scores to weights: the softmax
    When a key raises the maximum, the exponentials that you have added so far still contain the old maximum. Multiply
    both sums by exp(old maximum - new maximum), or find the maximum in a loop of its own.""")
wrong("only_total_shrinks", in_one_pass, output_shrinks=False)("""
    corrects the sum of the exponentials alone -> From scores to weights: the softmax
    When a key raises the maximum, you correct the sum of the exponentials, but not the sum of the values, which
    contains the same exponentials. Multiply this sum by the same factor.""")
wrong("only_output_shrinks", in_one_pass, total_shrinks=False)("""
    corrects the sum of the values alone -> From scores to weights: the softmax
    When a key raises the maximum, you correct the sum of the values, but not the sum of the exponentials. Multiply this
    sum by the same factor.""")
wrong("maximum_from_zero", in_one_pass, start=0.0)("""
    begins with a maximum of 0 -> From scores to weights: the softmax
    Your maximum begins at 0, so it stays there if all scores of a row are negative. If all scores of a row are far
    below 0, all their exponentials are 0, and so is their sum. Begin with minus infinity, or with the score of the
    first key.""")


@repaired_attention.mistake("takes one maximum for all queries", reread="From scores to weights: the softmax")
def one_maximum_for_all(queries, keys, values):
    """You subtract the same number in every row. In a row far below this number, all exponentials are 0, and so is
    their sum. Each query needs the largest of its own scores."""
    scores = scores_of(queries, keys) / math.sqrt(keys.shape[-1])
    strengths = np.exp(scores - scores.max())
    return strengths @ values / strengths.sum(axis=-1, keepdims=True)


@repaired_attention.equivalent
def by_matrix_products(queries, keys, values):
    return reference.attention(queries, keys, values)[0]


@repaired_attention.equivalent
def divided_before_and_after(queries, keys, values):
    return divided_at_the_end(queries, keys, values)[0]


@repaired_attention.equivalent
def with_a_running_maximum(queries, keys, values):
    return key_by_key(queries, keys, values)[0]


@repaired_attention.equivalent
def begins_with_the_first_key(queries, keys, values):
    first = scores_of(queries, keys[..., :1, :]) / math.sqrt(keys.shape[-1])
    return in_one_pass(queries, keys, values, start=first)
