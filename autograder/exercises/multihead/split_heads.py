import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.multihead.shared import interleaved_split, misread_split, turned, view_split
from solutions import multihead as reference

split_heads = Exercise(
    reference.split_heads, outputs={"heads": "... n_heads T d_head"}, section="From the loop to an axis"
)
wrong = short_mistakes(split_heads)


def to_split(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """Draw features for several heads. All sizes differ, except those that you give."""
    drawn = draw.sizes(3 + n_batch_axes)
    size = dict(zip(("T", "n_heads", "d_head"), drawn, strict=False)) | sizes
    x = draw.normal(*drawn[3:], size["T"], size["n_heads"] * size["d_head"], dtype=dtype)
    return {"x": x, "n_heads": size["n_heads"]}


@split_heads.cases("the idea", points=1)
def _(draw):
    yield "one sentence", to_split(draw)
    yield "as many heads as positions", to_split(draw, T=3, n_heads=3, d_head=2)
    yield "all sizes agree", to_split(draw, T=3, n_heads=3, d_head=3)


@split_heads.cases("batches", points=1)
def _(draw):
    yield "one batch axis", to_split(draw, 1)
    yield "two batch axes", to_split(draw, 2)


@split_heads.cases("edge cases and errors", points=1)
def _(draw):
    yield "a single head", to_split(draw, 1, n_heads=1)
    yield "one feature for each head", to_split(draw, 1, d_head=1)
    yield "float32", to_split(draw, 1, dtype=np.float32)
    T, n_heads = draw.sizes(2, low=3)
    yield "features that cannot be divided", {"x": draw.normal(T, 2 * n_heads + 1), "n_heads": n_heads}


@split_heads.mistake("reshapes without moving an axis", reread="Why a reshape alone will not do")
def only_a_view(x, n_heads):
    """The shape is right, but the numbers are in the wrong heads: a reshape reads the entries in their old order, so
    the first head gets whole rows: all the features of the first positions. First split the last axis in two, then swap
    the axes of positions and heads."""
    return view_split(x, n_heads)


wrong("dealt_in_turn", interleaved_split)("""
    deals the features out in turn
    Head 0 gets features 0, h, 2h, ... instead of the first slice, where h is the number of heads. A new model could do
    this consistently, but here the features are in blocks, head after head, as in the paper's concatenation and in
    PyTorch's weights. Split the last axis into (n_heads, d_head), not into (d_head, n_heads).""")
wrong("not_moved", lambda x, n_heads: turned_back(reference.split_heads(x, n_heads)))("""
    leaves the heads after the positions
    The features are split, but the axes are (..., T, n_heads, d_head). The last two axes are the matrix, so attention
    would now compare the heads of one position with each other. Move the positions next to the features: (..., n_heads,
    T, d_head).""")
wrong(
    "axes_from_the_front", lambda x, n_heads: x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).swapaxes(0, 1)
)("""
    counts the axes from the front
    Axes 0 and 1 are positions and heads only while there is no batch. With a batch, you swap the batch with the
    positions. Count from the end: -2 and -3.""")
wrong(
    "one_batch_axis_only",
    lambda x, n_heads: x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).transpose(0, 2, 1, 3),
)("""
    takes exactly one batch axis for granted
    `transpose(0, 2, 1, 3)` names four axes, so it fails for a single sentence and for two batch axes. Swap two axes,
    counted from the end, and leave the others alone.""")
wrong(
    "folded_into_the_batch",
    lambda x, n_heads: (heads := reference.split_heads(x, n_heads)).reshape(-1, *heads.shape[-2:]),
)("""
    folds the heads into the batch
    Batch and heads share one axis, (batch * n_heads, T, d_head), as in code that multiplies matrices of three axes
    only. For one sentence that is right. With a batch, the heads need an axis of their own, (..., n_heads, T, d_head).
    Otherwise later code cannot distinguish a head from a sentence.""")
wrong("heads_in_front", lambda x, n_heads: np.moveaxis(reference.split_heads(x, n_heads), -3, 0))("""
    puts the heads in front of the batch
    The heads come before the batch, which is right for one sentence only. With a batch, the first axis of a mask would
    meet the heads. Return (..., n_heads, T, d_head).""")
wrong("batch_and_heads_exchanged", misread_split)("""
    exchanges the batch and the heads
    You cut out the heads one by one, so their axis comes before the batch, and then you read the two axes in
    the wrong order. The shape is right, but a sentence contains heads of other sentences. Move the heads' axis after
    the batch; a reshape does not move it.""")
wrong("each_head_turned", lambda x, n_heads: turned(reference.split_heads(x, n_heads)))("""
    transposes each head
    The heads are in the right place, but within each head the features come before the positions: (..., n_heads,
    d_head, T). A head is a matrix with a row for each position.""")
wrong("heads_of_that_size", lambda x, n_heads: reference.split_heads(x, x.shape[-1] // n_heads))("""
    takes n_heads for the size of a head
    You make heads *of* n_heads features instead of n_heads heads. Each head gets d_model // n_heads features.""")
wrong(
    "leftovers_dropped", lambda x, n_heads: reference.split_heads(x[..., : x.shape[-1] // n_heads * n_heads], n_heads)
)("""
    drops the features that are left over
    If the features cannot be shared out evenly, the last ones vanish without an error. A size that cannot be divided is
    the caller's mistake, so report it: raise a ValueError.""")


def turned_back(heads):
    """Move the heads after the positions: (..., n_heads, T, d_head) to (..., T, n_heads, d_head)."""
    return heads.swapaxes(-2, -3)


@split_heads.equivalent
def stacked_slices(x, n_heads):
    return np.stack(np.split(x, n_heads, axis=-1), axis=-3)


@split_heads.equivalent
def by_einsum(x, n_heads):
    return np.einsum("...thd->...htd", np.stack(np.split(x, n_heads, axis=-1), axis=-2))


@split_heads.equivalent
def head_by_head(x, n_heads):
    d_head, left_over = divmod(x.shape[-1], n_heads)
    if left_over:
        raise ValueError("left over")
    heads = np.zeros((*x.shape[:-2], n_heads, x.shape[-2], d_head), x.dtype)
    for h in range(n_heads):
        heads[..., h, :, :] = x[..., h * d_head : (h + 1) * d_head]
    return heads
