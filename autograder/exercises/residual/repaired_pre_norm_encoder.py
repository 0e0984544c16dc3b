"""repaired_pre_norm_encoder: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.residual.feed_forward import unit_by_unit, with_einsum
from autograder.exercises.residual.layer_norm import by_einsum, position_by_position, with_var
from autograder.exercises.residual.shared import (
    attend,
    layer_params,
    norm_params,
    plain_norm,
    sentences,
    some_hidden,
    think,
)
from solutions import residual as reference

repaired_pre_norm_encoder = Exercise(
    reference.repaired_pre_norm_encoder,
    outputs={"output": "... T d_model"},
    section="Before or after?",
    uses=("layer_norm", "feed_forward"),
)


def stack_of(draw, n_layers, n_batch_axes=0, dtype=np.float64):
    inputs = sentences(draw, n_batch_axes, dtype)
    d_model = inputs["x"].shape[-1]
    layers = [layer_params(draw, d_model, dtype) for _ in range(n_layers)]
    norm = norm_params(draw, d_model, dtype)
    return {"x": inputs["x"], "layers": layers, "norm": norm, "n_heads": inputs["n_heads"]}


def with_one_norm(inputs):
    """Both norms of a layer alike, as they are when fresh."""
    layers = [layer | {"norm_feed_forward": layer["norm_attention"]} for layer in inputs["layers"]]
    return inputs | {"layers": layers}


@repaired_pre_norm_encoder.cases("the last norm", points=1)
def _(draw):
    yield "no layers at all", stack_of(draw, 0)
    yield "no layers, a batch", stack_of(draw, 0, 1)


@repaired_pre_norm_encoder.cases("the stream", points=1)
def _(draw):
    yield "one layer, both of its norms alike", with_one_norm(stack_of(draw, 1))
    yield "two layers, the norms of each alike", with_one_norm(stack_of(draw, 2, 1))


@repaired_pre_norm_encoder.cases("each sub-layer its own norm", points=2)
def _(draw):
    yield "one layer", stack_of(draw, 1)
    yield "three layers and a batch", stack_of(draw, 3, 1)
    inputs = stack_of(draw, 2, 1)
    yield "a mask", inputs | {"mask": some_hidden(inputs["x"])}
    yield "float32", stack_of(draw, 2, 1, np.float32)
    inputs = stack_of(draw, 2, 1)
    yield "a mask (T,), one row for all queries", inputs | {"mask": some_hidden(inputs["x"])[-2]}


def hunted(x, layers, norm, n_heads, mask=None, *, stream, own, last):
    """The stub, with these of its three mistakes mended."""
    for params in layers:
        normed_x = plain_norm(x, params["norm_attention"])
        x = (x if stream else normed_x) + attend(normed_x, params, n_heads, mask)
        normed_x = plain_norm(x, params["norm_feed_forward" if own else "norm_attention"])
        x = (x if stream else normed_x) + think(normed_x, params)
    return plain_norm(x, norm) if last else x.copy()


@repaired_pre_norm_encoder.mistake("is still as it was handed out")
def nothing_mended(x, layers, norm, n_heads, mask=None):
    """All three mistakes are still there. Follow the stream, from x to the output: to what is each update added, by
    which norm is each sub-layer's input normalised, and what happens to the sum at the end?"""
    return hunted(x, layers, norm, n_heads, mask, stream=False, own=False, last=False)


@repaired_pre_norm_encoder.mistake("has its last norm, two mistakes are left")
def last_mended(x, layers, norm, n_heads, mask=None):
    """The last norm is there now. Two mistakes are left, both in the loop: to what is each update added, and which
    norm does the feed-forward use?"""
    return hunted(x, layers, norm, n_heads, mask, stream=False, own=False, last=True)


@repaired_pre_norm_encoder.mistake("has its stream back, two mistakes are left")
def stream_mended(x, layers, norm, n_heads, mask=None):
    """The updates are added to the stream now. Two mistakes are left: one is invisible as long as all gains are fresh,
    and one stands after the last layer."""
    return hunted(x, layers, norm, n_heads, mask, stream=True, own=False, last=False)


@repaired_pre_norm_encoder.mistake("has both norms, two mistakes are left")
def own_mended(x, layers, norm, n_heads, mask=None):
    """Each sub-layer has its own norm now. Two mistakes are left: to what is each update added, and what has
    normalised the sum that leaves the last layer?"""
    return hunted(x, layers, norm, n_heads, mask, stream=False, own=True, last=False)


@repaired_pre_norm_encoder.mistake("uses the first norm twice, one mistake is left", reread="The encoder layer")
def own_left(x, layers, norm, n_heads, mask=None):
    """One mistake is left, and it is invisible as long as all gains are one: the feed-forward's input goes through
    norm_attention, and norm_feed_forward is never used."""
    return hunted(x, layers, norm, n_heads, mask, stream=True, own=False, last=True)


@repaired_pre_norm_encoder.mistake("adds to the normalised stream, one mistake is left")
def stream_left(x, layers, norm, n_heads, mask=None):
    """One mistake is left: the update is added to the *normalised* x, which overwrites the stream at every sub-layer.
    In pre-norm, the sub-layer looks at the normalised copy, and the sum takes x itself."""
    return hunted(x, layers, norm, n_heads, mask, stream=False, own=True, last=True)


@repaired_pre_norm_encoder.mistake("lacks the last norm, one mistake is left")
def last_left(x, layers, norm, n_heads, mask=None):
    """One mistake is left: in pre-norm nothing normalises the stream itself, so after the last layer it leaves as
    large as it has grown. It needs one norm more, `norm`, at the end."""
    return hunted(x, layers, norm, n_heads, mask, stream=True, own=True, last=False)


@repaired_pre_norm_encoder.mistake("has become a post-norm encoder")
def became_post_norm(x, layers, norm, n_heads, mask=None):
    """Each layer is the paper's post-norm layer now. The task is to mend the pre-norm stack: x + sublayer(norm(x)),
    with one norm at the end."""
    for params in layers:
        x, _ = reference.encoder_layer(x, params, n_heads, mask)
    return plain_norm(x, norm)


@repaired_pre_norm_encoder.equivalent
def mended(x, layers, norm, n_heads, mask=None):
    return hunted(x, layers, norm, n_heads, mask, stream=True, own=True, last=True)


@repaired_pre_norm_encoder.equivalent
def a_sum_of_updates(x, layers, norm, n_heads, mask=None):
    updates = [x]
    for params in layers:
        seen = by_einsum(np.sum(updates, axis=0), **params["norm_attention"])[0]
        updates.append(attend(seen, params, n_heads, mask))
        seen = by_einsum(np.sum(updates, axis=0), **params["norm_feed_forward"])[0]
        updates.append(with_einsum(seen, params["feed_forward"])[0])
    return with_var(np.sum(updates, axis=0), **norm)[0]


@repaired_pre_norm_encoder.equivalent
def layer_inside_layer(x, layers, norm, n_heads, mask=None):
    if not layers:
        return position_by_position(x, **norm)[0]
    first, *rest = layers
    x = x + attend(with_var(x, **first["norm_attention"])[0], first, n_heads, mask)
    x = x + unit_by_unit(with_var(x, **first["norm_feed_forward"])[0], first["feed_forward"])[0]
    return layer_inside_layer(x, rest, norm, n_heads, mask)
