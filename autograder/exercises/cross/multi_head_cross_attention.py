"""multi_head_cross_attention: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.cross.shared import turned, with_heads
from autograder.exercises.multihead.multi_head_attention import (
    all_by_einsum,
    one_head_after_the_other,
    with_large_negative_scores,
)
from solutions import cross as reference
from solutions.multihead import multi_head_attention

multi_head_cross_attention = Exercise(
    reference.multi_head_cross_attention,
    outputs={"output": "... T d_model", "cache": UNJUDGED},
    section="Many heads, by reuse",
)


@multi_head_cross_attention.cases("the idea", points=1)
def _(draw):
    yield "two sequences", with_heads(draw)
    yield "two sequences of one shape", with_heads(draw, is_square=True)


@multi_head_cross_attention.cases("batches, masks and float32", points=1)
def _(draw):
    yield "one batch axis", with_heads(draw, 1)
    yield "two batch axes, with a mask", with_heads(draw, 2, masked=True)
    yield "a mask, sequences of one shape", with_heads(draw, 1, masked=True, is_square=True)
    yield "float32", with_heads(draw, 1, np.float32, masked=True)
    inputs = with_heads(draw, 1, masked=True)
    yield "a mask of one axis", inputs | {"mask": inputs["mask"][0, 0]}


@multi_head_cross_attention.mistake("takes the keys from x", reread="Who asks, and who answers")
def many_keys_from_x(x, memory, params, n_heads, mask=None):
    """You hand over (x, x, memory): the keys come from the sequence that asks. Both second and third input are the
    memory."""
    return multi_head_attention(x, x, memory, params, n_heads, mask)


@multi_head_cross_attention.mistake("takes the values from x", reread="Who asks, and who answers")
def many_values_from_x(x, memory, params, n_heads, mask=None):
    """You hand over (x, memory, x): the memory is searched, and x answers. Nothing of the source reaches the output."""
    return multi_head_attention(x, memory, x, params, n_heads, mask)


@multi_head_cross_attention.mistake("never looks at the memory", reread="Who asks, and who answers")
def many_only_x(x, memory, params, n_heads, mask=None):
    """You hand over (x, x, x), which is self-attention."""
    return multi_head_attention(x, x, x, params, n_heads, mask)


@multi_head_cross_attention.mistake("lets the memory ask", reread="Who asks, and who answers")
def many_memory_asks(x, memory, params, n_heads, mask=None):
    """The roles are exchanged: the memory asks, and x answers. The output needs a row for each position of x."""
    return multi_head_attention(memory, x, x, params, n_heads, mask)


@multi_head_cross_attention.mistake("leaves out the memory mask", reread="The memory mask")
def many_mask_left_out(x, memory, params, n_heads, mask=None):
    """The mask is not handed on, so every head reads the padding of the source."""
    return multi_head_attention(x, memory, memory, params, n_heads)


@multi_head_cross_attention.mistake("turns the memory mask round", reread="The memory mask")
def many_mask_transposed(x, memory, params, n_heads, mask=None):
    """The mask is transposed. Its rows are the queries, its columns the memory: (T, T_memory)."""
    return multi_head_attention(x, memory, memory, params, n_heads, turned(mask))


@multi_head_cross_attention.mistake("inverts the memory mask", reread="The memory mask")
def many_mask_inverted(x, memory, params, n_heads, mask=None):
    """What may be seen is hidden, and the padding is read. Here True means *may attend*."""
    return multi_head_attention(x, memory, memory, params, n_heads, None if mask is None else ~mask)


@multi_head_cross_attention.mistake("has a single head")
def single_head(x, memory, params, n_heads, mask=None):
    """n_heads is not used: one wide head looks at one place, where several could look at several. Hand it on."""
    return multi_head_attention(x, memory, memory, params, 1, mask)


@multi_head_cross_attention.equivalent
def head_by_head(x, memory, params, n_heads, mask=None):
    return one_head_after_the_other(x, memory, memory, params, n_heads, mask)


@multi_head_cross_attention.equivalent
def by_einsum(x, memory, params, n_heads, mask=None):
    return all_by_einsum(x, memory, memory, params, n_heads, mask)


@multi_head_cross_attention.equivalent
def with_low_scores(x, memory, params, n_heads, mask=None):
    return with_large_negative_scores(x, memory, memory, params, n_heads, mask)
