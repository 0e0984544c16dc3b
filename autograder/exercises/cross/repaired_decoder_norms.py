"""repaired_decoder_norms: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.cross.decoder_layer import with_heads_in_turn, with_rows_and_einsum
from autograder.exercises.cross.shared import layered, to_decode
from solutions import cross as reference

repaired_decoder_norms = Exercise(
    reference.repaired_decoder_norms, outputs={"output": "... T d_model"}, section="Find the bug"
)


def everything_seen(inputs):
    """The same inputs, the whole memory visible."""
    return inputs | {"memory_mask": np.ones_like(inputs["memory_mask"])}


@repaired_decoder_norms.cases("the norms", points=2)
def _(draw):
    yield "three trained norms, everything visible", everything_seen(to_decode(draw, 1, masked=True))


@repaired_decoder_norms.cases("the memory", points=1)
def _(draw):
    inputs = to_decode(draw, 1, masked=True)
    norm = inputs["params"]["norm_attention"]
    one_norm = {"norm_cross_attention": norm, "norm_feed_forward": norm}
    yield "three equal norms, some padding", inputs | {"params": inputs["params"] | one_norm}


@repaired_decoder_norms.cases("all of it together", points=1)
def _(draw):
    yield "trained norms, some padding", to_decode(draw, 1, masked=True)
    yield "float32", to_decode(draw, 1, np.float32, masked=True)


@repaired_decoder_norms.mistake("nothing is mended yet", reread="The decoder layer")
def as_published(x, memory, params, n_heads, self_mask, memory_mask):
    """Both mistakes are still there. Start with the norms: how many does the layer hold, and how many are used?"""
    return layered(x, memory, params, n_heads, self_mask, norms={"feed_forward": "attention"})[0]


@repaired_decoder_norms.mistake("one found: the norms are right; one to go", reread="The memory mask")
def padding_left(x, memory, params, n_heads, self_mask, memory_mask):
    """Each sub-layer has its norm now. One is left: which argument of the function has no effect?"""
    return layered(x, memory, params, n_heads, self_mask)[0]


@repaired_decoder_norms.mistake("one found: the memory mask is in; one to go", reread="The decoder layer")
def norm_left(x, memory, params, n_heads, self_mask, memory_mask):
    """The memory mask is in. One is left: change norm_feed_forward, and nothing happens."""
    return layered(x, memory, params, n_heads, self_mask, memory_mask, norms={"feed_forward": "attention"})[0]


@repaired_decoder_norms.mistake("uses the second norm for the third sum", reread="The decoder layer")
def second_norm_twice(x, memory, params, n_heads, self_mask, memory_mask):
    """The third sum goes through norm_cross_attention now. It needs a norm of its own, norm_feed_forward."""
    return layered(x, memory, params, n_heads, self_mask, memory_mask, norms={"feed_forward": "cross_attention"})[0]


@repaired_decoder_norms.equivalent
def mended_in_a_loop(*inputs, **named):
    return layered(*inputs, **named)[0]


@repaired_decoder_norms.equivalent
def mended_with_rows(*inputs, **named):
    return with_rows_and_einsum(*inputs, **named)[0]


@repaired_decoder_norms.equivalent
def mended_with_heads_in_turn(*inputs, **named):
    return with_heads_in_turn(*inputs, **named)[0]
