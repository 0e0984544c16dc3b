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
)


@repaired_attention.cases("the scale", points=2)
def _(draw):
    yield "one sentence", roles(draw)
    yield "two batch axes", roles(draw, 2)


@repaired_attention.cases("large scores", points=1)
def _(draw):
    inputs = roles(draw, 1)
    yield "scores in the thousands", inputs | {"queries": 100 * inputs["queries"], "keys": 100 * inputs["keys"]}


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
    """One is left: the division by the root of d_key still comes after the softmax, where it shrinks the output and
    tames nothing."""
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
    """The scale is in its place now, before the softmax, and the wrong way round: the scores are multiplied by the root
    of d_key, or divided by d_key ** -0.5, which is the same. Divide by it."""
    return buggy(queries, keys, values, scale=1 / math.sqrt(keys.shape[-1]))


@repaired_attention.mistake(
    "the scores are divided by the root of d_value", reread="Why divide by the square root of the key width"
)
def scale_of_the_values(queries, keys, values):
    """The scale is in its place now, before the softmax, but it is the width of the values. What adds up in a score is
    d_key products, so it is the width of the keys."""
    return buggy(queries, keys, values, scale=math.sqrt(values.shape[-1]))


@repaired_attention.mistake("two found; large scores still overflow", reread="From scores to weights: the softmax")
def overflow_left(queries, keys, values):
    """One is left: exp of a large score is infinite, and infinity over infinity is NaN."""
    return buggy(queries, keys, values, scale_late=False, overflow=True, promote=False)


@repaired_attention.mistake("two found; float32 still comes back as float64")
def dtype_left(queries, keys, values):
    """One is left: a float64 NumPy scalar, such as np.sqrt(64) gives, promotes a float32 array to float64. Python's
    own numbers do not: math.sqrt(64), or 64 ** 0.5."""
    return buggy(queries, keys, values, scale_late=False, overflow=False, promote=True)


@repaired_attention.equivalent
def by_matrix_products(queries, keys, values):
    return reference.attention(queries, keys, values)[0]


@repaired_attention.equivalent
def divided_before_and_after(queries, keys, values):
    return divided_at_the_end(queries, keys, values)[0]


@repaired_attention.equivalent
def with_a_running_maximum(queries, keys, values):
    return key_by_key(queries, keys, values)[0]
