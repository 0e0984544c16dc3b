"""merge_heads: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.multihead.shared import interleaved_merge, misread_merge, view_merge
from solutions import multihead as reference

merge_heads = Exercise(
    reference.merge_heads,
    outputs={"x": "... T d_model"},
    section="From the loop to an axis",
)


def to_merge(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """Several heads, no two sizes alike unless given."""
    drawn = draw.sizes(3 + n_batch_axes)
    size = dict(zip(("n_heads", "T", "d_head"), drawn, strict=False)) | sizes
    return {"heads": draw.normal(*drawn[3:], size["n_heads"], size["T"], size["d_head"], dtype=dtype)}


@merge_heads.cases("the idea", points=1)
def _(draw):
    yield "one sentence", to_merge(draw)
    yield "all sizes agree", to_merge(draw, n_heads=3, T=3, d_head=3)


@merge_heads.cases("batches", points=1)
def _(draw):
    yield "one batch axis", to_merge(draw, 1)
    yield "two batch axes", to_merge(draw, 2)


@merge_heads.cases("float32 and edge cases", points=1)
def _(draw):
    yield "a single head", to_merge(draw, 1, n_heads=1)
    yield "a single position", to_merge(draw, 1, T=1)
    yield "float32", to_merge(draw, 1, dtype=np.float32)


@merge_heads.mistake("reshapes without moving an axis", reread="Why a reshape alone will not do")
def merged_view(heads):
    """The shape is right, and each row holds several positions of *one* head, where it should hold one position of
    *all* heads. Move the heads' axis next to the features first, then fold the two together."""
    return view_merge(heads)


@merge_heads.mistake("deals the heads' features out in turn")
def merged_in_turn(heads):
    """Feature 0 of every head comes first, then feature 1 of every head. A concatenation keeps each head together: all
    of head 0, then all of head 1."""
    return interleaved_merge(heads)


@merge_heads.mistake("averages the heads", reread="Why the heads are concatenated")
def averaged_heads(heads):
    """One head's width comes out: you averaged what was to be put side by side. An average cannot tell who said what;
    the concatenation keeps every head's answer apart, for the last projection to weigh."""
    return heads.mean(axis=-3)


@merge_heads.mistake("adds the heads up", reread="Why the heads are concatenated")
def added_heads(heads):
    """One head's width comes out: you added up what was to be put side by side. The heads do get added up, but by the
    last projection, each with a matrix of its own."""
    return heads.sum(axis=-3)


@merge_heads.mistake("puts the heads one below the other")
def one_below_the_other(heads):
    """You have n_heads * T rows: the sentence once for each head. The heads belong side by side, along the features:
    (..., T, n_heads * d_head)."""
    *batch, n_heads, length, d_head = heads.shape
    return heads.reshape(*batch, n_heads * length, d_head)


@merge_heads.mistake("reverses the heads", reread="Why the heads are concatenated")
def heads_reversed(heads):
    """Every head is whole, and the last one comes first. The order matters: the rows of w_output stand in the order of
    the heads."""
    return reference.merge_heads(heads[..., ::-1, :, :])


@merge_heads.mistake("exchanges the heads with the features")
def heads_for_features(heads):
    """One swap too far: the heads' axis changes places with the *features*, so the features come first and the
    positions stand in the middle of what is folded. Exchange heads and positions, -3 and -2: then the heads stand next
    to their features."""
    *batch, n_heads, length, d_head = heads.shape
    return heads.swapaxes(-1, -3).reshape(*batch, length, n_heads * d_head)


@merge_heads.mistake("turns each head, and folds", reread="Why a reshape alone will not do")
def turned_and_folded(heads):
    """Within each head positions and features are exchanged, and the heads stay in front: what is folded into a row is
    not one position's. Exchange heads and positions, -3 and -2: then the heads stand next to their features."""
    *batch, n_heads, length, d_head = heads.shape
    return heads.swapaxes(-1, -2).reshape(*batch, length, n_heads * d_head)


@merge_heads.mistake("exchanges the batch and the heads")
def merged_batch_and_heads_exchanged(heads):
    """The axes of batch and heads are read the other way round, as if the heads came first: the shape is right, and a
    row holds heads of several sentences. For one sentence there is no difference. The heads are axis -3, behind the
    batch."""
    return misread_merge(heads)


@merge_heads.mistake("does not fold the heads together")
def not_folded(heads):
    """The heads stand next to their features, (..., T, n_heads, d_head), and that is half of the way: fold the two axes
    into one, (..., T, n_heads * d_head), so that the last projection meets them all."""
    return heads.swapaxes(-2, -3).copy()


@merge_heads.mistake("counts the axes from the front")
def merge_from_the_front(heads):
    """Axes 0 and 1 are heads and positions only while there is no batch. Count from the end: -3 and -2."""
    *batch, n_heads, length, d_head = heads.shape
    return heads.swapaxes(0, 1).reshape(*batch, length, n_heads * d_head)


@merge_heads.equivalent
def concatenated(heads):
    return np.concatenate(list(np.moveaxis(heads, -3, 0)), axis=-1)


@merge_heads.equivalent
def by_einsum(heads):
    swapped = np.einsum("...htd->...thd", heads)
    return swapped.reshape(*swapped.shape[:-2], -1)


@merge_heads.equivalent
def written_slice_by_slice(heads):
    *batch, n_heads, length, d_head = heads.shape
    x = np.zeros((*batch, length, n_heads * d_head), heads.dtype)
    for h in range(n_heads):
        x[..., h * d_head : (h + 1) * d_head] = heads[..., h, :, :]
    return x
