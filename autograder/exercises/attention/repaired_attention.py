"""repaired_attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
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


@repaired_attention.cases("the scale", points=2)
def _(draw):
    yield "one sentence", roles(draw)
    yield "two batch axes", roles(draw, 2)


@repaired_attention.cases("large scores", points=1)
def _(draw):
    inputs = roles(draw, 1)
    yield "scores in the thousands", inputs | {"queries": 100 * inputs["queries"], "keys": 100 * inputs["keys"]}
    inputs = roles(draw, 1)
    far = {"queries": 30 + 30 * np.abs(inputs["queries"]), "keys": -30 - 30 * np.abs(inputs["keys"])}
    yield "scores far below zero", inputs | far


@repaired_attention.cases("float32", points=1)
def _(draw):
    yield "float32", roles(draw, 1, dtype=np.float32)


def buggy(queries, keys, values, *, scale_late=False, overflow=False, promote=False, scale=None):
    """The published function with any of its three mistakes left in, or with another scale."""
    scale = math.sqrt(keys.shape[-1]) if scale is None else scale
    scores = scores_of(queries, keys) / (1 if scale_late else scale)
    output = (overflowing(scores) if overflow else reference.softmax(scores)) @ values / (scale if scale_late else 1)
    return output.astype(np.float64) if promote else output


@repaired_attention.mistake("nothing is fixed yet", reread="Why divide by the square root of the key width")
def as_published(queries, keys, values):
    """All three mistakes are still there. Start with the one on the formula: at which step does the paper divide by
    the root of d_key?"""
    return buggy(queries, keys, values, scale_late=True, overflow=True, promote=True)


@repaired_attention.mistake(
    "one found: float32 stays float32; two to go", reread="Why divide by the square root of the key width"
)
def scale_and_overflow_left(queries, keys, values):
    """float32 stays float32 now. Next: at which step does the paper divide by the root of d_key?"""
    return buggy(queries, keys, values, scale_late=True, overflow=True, promote=False)


@repaired_attention.mistake(
    "one found: large scores are safe; two to go", reread="Why divide by the square root of the key width"
)
def scale_and_dtype_left(queries, keys, values):
    """Large scores are safe now. Next: at which step does the paper divide by the root of d_key?"""
    return buggy(queries, keys, values, scale_late=True, overflow=False, promote=True)


@repaired_attention.mistake(
    "one found: the scale is in its place; two to go", reread="From scores to weights: the softmax"
)
def overflow_and_dtype_left(queries, keys, values):
    """The scale is in its place. Next: what happens to exp when a score is 1000?"""
    return buggy(queries, keys, values, scale_late=False, overflow=True, promote=True)


@repaired_attention.mistake(
    "two found; the scale still comes after the softmax", reread="Why divide by the square root of the key width"
)
def scale_left(queries, keys, values):
    """One is left: the division by the root of d_key still comes after the softmax. There it shrinks the output, but
    the softmax has already seen the large scores."""
    return buggy(queries, keys, values, scale_late=True, overflow=False, promote=False)


@repaired_attention.mistake(
    "the late division is gone, and nothing has come in its place",
    reread="Why divide by the square root of the key width",
)
def scale_dropped(queries, keys, values):
    """The division after the softmax is gone, and now nothing is divided by the root of d_key at all. It belongs on the
    scores, before the softmax."""
    return buggy(queries, keys, values, scale=1)


@repaired_attention.mistake(
    "the scores are multiplied by the root of d_key", reread="Why divide by the square root of the key width"
)
def scale_inverted(queries, keys, values):
    """The scale is in its place now, before the softmax, but it is the wrong way round: the scores are multiplied by
    the root of d_key, or divided by d_key ** -0.5, which is the same. Divide by it."""
    return buggy(queries, keys, values, scale=1 / math.sqrt(keys.shape[-1]))


@repaired_attention.mistake(
    "the scores are divided by the root of d_value", reread="Why divide by the square root of the key width"
)
def scale_of_the_values(queries, keys, values):
    """The scale is in its place now, before the softmax, but you take the width of the values. A score is a sum of
    d_key products, so take the width of the keys."""
    return buggy(queries, keys, values, scale=math.sqrt(values.shape[-1]))


@repaired_attention.mistake("two found; large scores still overflow", reread="From scores to weights: the softmax")
def overflow_left(queries, keys, values):
    """One is left: exp of a large score is infinite, and infinity over infinity is NaN."""
    return buggy(queries, keys, values, scale_late=False, overflow=True, promote=False)


@repaired_attention.mistake("two found; float32 still comes back as float64")
def dtype_left(queries, keys, values):
    """One is left: float32 comes back as float64. `np.zeros` makes float64 unless you name another dtype, and what
    `np.sqrt` returns for a Python number is float64, too. Both promote float32. Python's own numbers do not."""
    return buggy(queries, keys, values, scale_late=False, overflow=False, promote=True)


def in_one_pass(queries, keys, values, *, total_shrinks=True, output_shrinks=True, start=-np.inf):
    """Attention key by key with a running maximum, or with one of the mistakes that people make in it."""
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


@repaired_attention.mistake(
    "changes the maximum and corrects neither sum", reread="From scores to weights: the softmax"
)
def nothing_shrinks(queries, keys, values):
    """When a key raises the maximum, the exponentials that you have added so far still have the old one in them. Both
    sums need the factor exp(old maximum - new maximum), or find the maximum in a loop of its own."""
    return in_one_pass(queries, keys, values, total_shrinks=False, output_shrinks=False)


@repaired_attention.mistake("corrects the sum of the exponentials alone", reread="From scores to weights: the softmax")
def only_total_shrinks(queries, keys, values):
    """When a key raises the maximum, you correct the sum of the exponentials, but not the sum of the values, which
    contains the same exponentials. It needs the same factor."""
    return in_one_pass(queries, keys, values, output_shrinks=False)


@repaired_attention.mistake("corrects the sum of the values alone", reread="From scores to weights: the softmax")
def only_output_shrinks(queries, keys, values):
    """When a key raises the maximum, you correct the sum of the values, but not the sum of the exponentials. It needs
    the same factor."""
    return in_one_pass(queries, keys, values, total_shrinks=False)


@repaired_attention.mistake("begins with a maximum of 0", reread="From scores to weights: the softmax")
def maximum_from_zero(queries, keys, values):
    """The maximum begins at 0, so it stays there if all scores of a row are negative. If all scores of a row are far
    below 0, all their exponentials are 0, and so is their sum. Begin with minus infinity, or with the score of the
    first key."""
    return in_one_pass(queries, keys, values, start=0.0)


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
