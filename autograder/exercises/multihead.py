"""Chapter 4, multi-head attention: the cases, the known mistakes and the right rewrites of its exercises."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from solutions import multihead as reference
from solutions.attention import attention, softmax
from solutions.backward import attention_backward, linear_backward, softmax_backward

PROJECTIONS = ("query", "key", "value")


def turned(array):
    """The last two axes exchanged."""
    return array.swapaxes(-1, -2)


def as_rows(array):
    """All leading axes folded into one: (..., d) to (n, d)."""
    return array.reshape(-1, array.shape[-1])


# -------------------------------------------------------------------------------- ways to split and to merge


def view_split(x, n_heads):
    """Reshaped to the right shape, without moving an axis."""
    *batch, length, d_model = x.shape
    return x.reshape(*batch, n_heads, length, d_model // n_heads)


def view_merge(heads):
    """Reshaped to the right shape, without moving an axis."""
    *batch, n_heads, length, d_head = heads.shape
    return heads.reshape(*batch, length, n_heads * d_head)


def interleaved_split(x, n_heads):
    """Head h takes features h, h + n_heads, h + 2 n_heads, ..."""
    *batch, length, d_model = x.shape
    return np.moveaxis(x.reshape(*batch, length, d_model // n_heads, n_heads), -1, -3)


def interleaved_merge(heads):
    """The inverse of `interleaved_split`."""
    *batch, n_heads, length, d_head = heads.shape
    return np.moveaxis(heads, -3, -1).reshape(*batch, length, n_heads * d_head)


# ---------------------------------------------------------------------------------------------- split_heads

split_heads = Exercise(
    reference.split_heads,
    outputs={"heads": "... n_heads T d_head"},
    section="From the loop to an axis",
)


def to_split(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """Features for several heads, no two sizes alike unless given."""
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


@split_heads.mistake("reshapes without moving an axis")
def only_a_view(x, n_heads):
    """The shape is right and the numbers are in the wrong heads: a reshape reads the entries in their old order, so the
    first head gets whole rows, all the features of the first positions, and "position" and "feature" are mixed. Split
    the last axis in two first, then exchange the positions' axis with the heads' axis. Reread 'Why a reshape alone will
    not do'."""
    return view_split(x, n_heads)


@split_heads.mistake("deals the features out in turn")
def dealt_in_turn(x, n_heads):
    """Head 0 gets features 0, h, 2h, ... and not the first slice. A consistent deal would do for a new model; but here
    the features stand in blocks, head after head, as in the paper's concatenation and in PyTorch's weights. Split the
    last axis into (n_heads, d_head), not into (d_head, n_heads). Reread 'From the loop to an axis'."""
    return interleaved_split(x, n_heads)


@split_heads.mistake("leaves the heads behind the positions")
def not_moved(x, n_heads):
    """The features are split, but the axes are (..., T, n_heads, d_head). The last two axes are the matrix, so
    attention would now compare the heads of one position with each other. Bring the positions next to the features:
    (..., n_heads, T, d_head). Reread 'From the loop to an axis'."""
    return turned_back(reference.split_heads(x, n_heads))


@split_heads.mistake("counts the axes from the front")
def axes_from_the_front(x, n_heads):
    """Axes 0 and 1 are positions and heads only while there is no batch. With one, you exchange the batch with the
    positions. Count from the end: -2 and -3. Reread 'From the loop to an axis'."""
    *batch, length, d_model = x.shape
    return x.reshape(*batch, length, n_heads, d_model // n_heads).swapaxes(0, 1)


@split_heads.mistake("takes exactly one batch axis for granted")
def one_batch_axis_only(x, n_heads):
    """`transpose(0, 2, 1, 3)` names four axes, so it fails for a single sentence and for two batch axes. Exchange two
    axes counted from the end, and leave the others alone. Reread 'From the loop to an axis'."""
    *batch, length, d_model = x.shape
    return x.reshape(*batch, length, n_heads, d_model // n_heads).transpose(0, 2, 1, 3)


@split_heads.mistake("turns each head")
def each_head_turned(x, n_heads):
    """The heads are in their place, but within each the features stand before the positions: (..., n_heads, d_head, T).
    A head is a matrix with a row for each position. Reread 'From the loop to an axis'."""
    return turned(reference.split_heads(x, n_heads))


@split_heads.mistake("takes n_heads for the size of a head")
def heads_of_that_size(x, n_heads):
    """You make heads *of* n_heads features where n_heads heads are wanted. Each head gets d_model // n_heads features.
    Reread 'From the loop to an axis'."""
    return reference.split_heads(x, x.shape[-1] // n_heads)


@split_heads.mistake("drops the features that are left over")
def leftovers_dropped(x, n_heads):
    """If the features cannot be shared out evenly, the last ones vanish without a word. A size that does not fit is a
    mistake of the caller, and the caller should hear of it: raise a ValueError. Reread 'From the loop to an axis'."""
    return reference.split_heads(x[..., : x.shape[-1] // n_heads * n_heads], n_heads)


def turned_back(heads):
    """(..., n_heads, T, d_head) to (..., T, n_heads, d_head)."""
    return heads.swapaxes(-2, -3)


@split_heads.equivalent
def stacked_slices(x, n_heads):
    return np.stack(np.split(x, n_heads, axis=-1), axis=-3)


@split_heads.equivalent
def split_by_einsum(x, n_heads):
    return np.einsum("...thd->...htd", x.reshape(*x.shape[:-1], n_heads, -1))


@split_heads.equivalent
def head_by_head(x, n_heads):
    d_head, left_over = divmod(x.shape[-1], n_heads)
    if left_over:
        raise ValueError("left over")
    heads = np.empty((*x.shape[:-2], n_heads, x.shape[-2], d_head), x.dtype)
    for h in range(n_heads):
        heads[..., h, :, :] = x[..., h * d_head : (h + 1) * d_head]
    return heads


# ---------------------------------------------------------------------------------------------- merge_heads

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


@merge_heads.mistake("reshapes without moving an axis")
def merged_view(heads):
    """The shape is right, and each row holds several positions of *one* head, where it should hold one position of
    *all* heads. Move the heads' axis next to the features first, then fold the two together. Reread 'Why a reshape
    alone will not do'."""
    return view_merge(heads)


@merge_heads.mistake("deals the heads' features out in turn")
def merged_in_turn(heads):
    """Feature 0 of every head comes first, then feature 1 of every head. A concatenation keeps each head together: all
    of head 0, then all of head 1. Reread 'From the loop to an axis'."""
    return interleaved_merge(heads)


@merge_heads.mistake("averages the heads")
def averaged_heads(heads):
    """One head's width comes out: you averaged what was to be put side by side. An average cannot tell who said what;
    the concatenation keeps every head's answer apart, for the last projection to weigh. Reread 'Why the heads are
    concatenated'."""
    return heads.mean(axis=-3)


@merge_heads.mistake("adds the heads up")
def added_heads(heads):
    """One head's width comes out: you added up what was to be put side by side. The heads do get added up, but by the
    last projection, each with a matrix of its own. Reread 'Why the heads are concatenated'."""
    return heads.sum(axis=-3)


@merge_heads.mistake("puts the heads one below the other")
def one_below_the_other(heads):
    """You have n_heads * T rows: the sentence once for each head. The heads belong side by side, along the features:
    (..., T, n_heads * d_head). Reread 'From the loop to an axis'."""
    *batch, n_heads, length, d_head = heads.shape
    return heads.reshape(*batch, n_heads * length, d_head)


@merge_heads.mistake("reverses the heads")
def heads_reversed(heads):
    """Every head is whole, and the last one comes first. The order matters: the rows of w_output stand in the order of
    the heads. Reread 'Why the heads are concatenated'."""
    return reference.merge_heads(heads[..., ::-1, :, :])


@merge_heads.mistake("counts the axes from the front")
def merge_from_the_front(heads):
    """Axes 0 and 1 are heads and positions only while there is no batch. Count from the end: -3 and -2. Reread 'From
    the loop to an axis'."""
    *batch, n_heads, length, d_head = heads.shape
    return heads.swapaxes(0, 1).reshape(*batch, length, n_heads * d_head)


@merge_heads.equivalent
def concatenated(heads):
    return np.concatenate(list(np.moveaxis(heads, -3, 0)), axis=-1)


@merge_heads.equivalent
def merge_by_einsum(heads):
    swapped = np.einsum("...htd->...thd", heads)
    return swapped.reshape(*swapped.shape[:-2], -1)


@merge_heads.equivalent
def written_slice_by_slice(heads):
    *batch, n_heads, length, d_head = heads.shape
    x = np.zeros((*batch, length, n_heads * d_head), heads.dtype)
    for h in range(n_heads):
        x[..., h * d_head : (h + 1) * d_head] = heads[..., h, :, :]
    return x


# ------------------------------------------------------------------------------------- multi_head_attention

multi_head_attention = Exercise(
    reference.multi_head_attention,
    outputs={"output": "... T_query d_model", "cache": UNJUDGED},
    section="The whole layer",
    uses=("split_heads", "merge_heads"),
)


def layer(draw, batch=(), dtype=np.float64, square=0, mask=None, **sizes):
    """Inputs and parameters of the layer. No two sizes agree unless given, or unless all widths are `square`.

    mask: None, "shared" or "each": one for all sentences, or one for each; row 1 of the queries sees nothing.
    """
    names = ("T_query", "T_key", "n_heads", "d_key", "d_value")
    size = dict(zip(names, draw.sizes(5, high=8), strict=True)) | sizes
    n_heads = size["n_heads"]
    *widths, d_model = [square] * 4 if square else draw.sizes(4, low=8, high=14)
    d_key, d_value = (square // n_heads,) * 2 if square else (size["d_key"], size["d_value"])
    outs = dict(zip(PROJECTIONS, (n_heads * d_key, n_heads * d_key, n_heads * d_value), strict=True))
    lengths = (size["T_query"], size["T_key"], size["T_key"])
    inputs = {
        name: draw.normal(*batch, length, width, dtype=dtype)
        for name, length, width in zip(PROJECTIONS, lengths, widths, strict=True)
    }
    shapes = {f"w_{name}": (width, outs[name]) for name, width in zip(PROJECTIONS, widths, strict=True)}
    shapes |= {"w_output": (outs["value"], d_model)}
    shapes |= {f"b_{name}": (n,) for name, n in outs.items()} | {"b_output": (d_model,)}
    # Divided by the root of the width: scores of size one, so that no softmax is saturated.
    params = {
        name: draw.normal(*shape, dtype=dtype) / math.sqrt(shape[0] if len(shape) == 2 else 1)
        for name, shape in shapes.items()
    }
    inputs |= {"params": params, "n_heads": n_heads}
    if mask:
        allowed = draw.rng.random((*(batch if mask == "each" else ()), *lengths[:2])) < 0.6
        allowed[..., 0, :2] = True, False
        allowed[..., 1, :] = False
        inputs["mask"] = allowed
    return inputs


def small_batch(draw, n_axes, avoid):
    """Small leading sizes, none of them the number of heads."""
    return tuple([n for n in draw.sizes(4, low=2, high=6) if n != avoid][:n_axes])


@multi_head_attention.cases("the idea", points=2)
def _(draw):
    yield "one sentence asks another", layer(draw)
    yield "all widths agree, and all lengths", layer(draw, square=6, n_heads=3, T_query=4, T_key=4)


@multi_head_attention.cases("batches", points=1)
def _(draw):
    yield "one batch axis", layer(draw, small_batch(draw, 1, avoid=3), n_heads=3)
    yield "two batch axes", layer(draw, small_batch(draw, 2, avoid=2), n_heads=2)


@multi_head_attention.cases("masks", points=2)
def _(draw):
    yield "one sentence, with a mask", layer(draw, mask="shared")
    yield "a mask shared by the batch", layer(draw, small_batch(draw, 1, avoid=3), n_heads=3, mask="shared")
    yield "a mask for each sentence", layer(draw, small_batch(draw, 1, avoid=3), n_heads=3, mask="each")
    yield "as many sentences as heads", layer(draw, (3,), n_heads=3, mask="each")


@multi_head_attention.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", layer(draw, small_batch(draw, 1, avoid=2), n_heads=2, dtype=np.float32)
    yield "a single head", layer(draw, (2,), n_heads=1)
    yield "a single key", layer(draw, (2,), n_heads=3, T_key=1)
    yield "one feature for each head", layer(draw, (2,), n_heads=3, d_key=1, d_value=1)


def naive(
    query, key, value, params, n_heads, mask=None, *,
    split=reference.split_heads, merge=reference.merge_heads, d_scale=None, scale_late=False, biases=PROJECTIONS,
    share_keys=False, output_bias=True, expand=True,
):  # fmt: skip
    """The layer, with one of its parts replaced."""
    projected = [
        x @ params[f"w_{name}"] + (params[f"b_{name}"] if name in biases else 0)
        for name, x in zip(PROJECTIONS, (query, key, value), strict=True)
    ]
    queries, keys, values = (split(x, n_heads) for x in projected)
    keys = np.broadcast_to(keys[..., :1, :, :], keys.shape) if share_keys else keys
    scale = math.sqrt(d_scale(params, n_heads) if d_scale else keys.shape[-1])
    scores = queries @ turned(keys) / (1 if scale_late else scale)
    if mask is not None:
        mask = np.expand_dims(mask, -3) if expand else mask
        scores = np.where(mask, scores, np.finfo(scores.dtype).min)
    weights = softmax(scores)
    weights = weights if mask is None else np.where(mask, weights, 0)
    output = merge(weights @ values) @ params["w_output"] + (params["b_output"] if output_bias else 0)
    return output / (scale if scale_late else 1), None


def all_features(params, n_heads):
    """The width of all heads' keys together."""
    return params["w_query"].shape[1]


def one(params, n_heads):
    """No scale at all."""
    return 1


@multi_head_attention.mistake("splits and merges without moving an axis")
def views_only(query, key, value, params, n_heads, mask=None):
    """Both reshapes give the right shapes, and undo each other, so nothing complains. But each "head" is a run of
    positions and not a slice of the features, and attention is confined to it. Exchange the axes of positions and
    heads. Reread 'Why a reshape alone will not do'."""
    return naive(query, key, value, params, n_heads, mask, split=view_split, merge=view_merge)


@multi_head_attention.mistake("splits without moving an axis")
def split_is_a_view(query, key, value, params, n_heads, mask=None):
    """Queries, keys and values are reshaped straight to (..., n_heads, T, d_head): the right shape, with positions and
    features mixed. Split the last axis in two, then exchange positions and heads. Reread 'Why a reshape alone will not
    do'."""
    return naive(query, key, value, params, n_heads, mask, split=view_split)


@multi_head_attention.mistake("merges without moving an axis")
def merge_is_a_view(query, key, value, params, n_heads, mask=None):
    """The heads are reshaped straight to (..., T, n_heads * d_head), so that a row holds several positions of one head.
    Bring the heads' axis next to the features first. Reread 'Why a reshape alone will not do'."""
    return naive(query, key, value, params, n_heads, mask, merge=view_merge)


@multi_head_attention.mistake("interleaves the heads")
def interleaved(query, key, value, params, n_heads, mask=None):
    """Each head takes every n_heads-th feature where it should take a block of neighbours. It is a sound layer, but
    another one: weights copied from elsewhere belong to other heads here. Reread 'From the loop to an axis'."""
    return naive(query, key, value, params, n_heads, mask, split=interleaved_split, merge=interleaved_merge)


@multi_head_attention.mistake("scales by the root of all features")
def scaled_by_d_model(query, key, value, params, n_heads, mask=None):
    """The scores are divided by the root of d_model, the width of all heads together. A score adds up only one head's
    products: take the root of d_key = d_model / n_heads. Yours flatten every head's attention. Reread 'What one head
    costs, and how it is scaled'."""
    return naive(query, key, value, params, n_heads, mask, d_scale=all_features)


@multi_head_attention.mistake("does not scale the scores")
def not_scaled(query, key, value, params, n_heads, mask=None):
    """The division by the root of d_key, one head's width, is missing: each head asks more sharply the wider it is.
    Reread 'What one head costs, and how it is scaled'."""
    return naive(query, key, value, params, n_heads, mask, d_scale=one)


@multi_head_attention.mistake("divides by the root after the last projection")
def scaled_after_w_output(query, key, value, params, n_heads, mask=None):
    """The root of d_key divides the *output*, where it shrinks everything and tames no softmax. (The prose of a lecture
    notebook says so; its code does better.) The scores are scaled, before the softmax. Reread 'What one head costs, and
    how it is scaled'."""
    return naive(query, key, value, params, n_heads, mask, scale_late=True)


@multi_head_attention.mistake("all heads use the first head's keys")
def first_keys_for_all(query, key, value, params, n_heads, mask=None):
    """Every head is found by the keys of head 0, so the heads can no longer look for different things. Each head has
    keys of its own. (With h copies of one head nobody would notice.) Reread 'Copies of one head see nothing'."""
    return naive(query, key, value, params, n_heads, mask, share_keys=True)


@multi_head_attention.mistake("averages the heads' answers")
def averaged_answers(query, key, value, params, n_heads, mask=None):
    """What the heads contribute is divided by their number. Concatenation and last projection *add* the contributions,
    O_1 W_1 + O_2 W_2 + ..., each with rows of W_O of its own. Reread 'Why the heads are concatenated'."""
    scaled = params | {"w_output": params["w_output"] / n_heads}
    return naive(query, key, value, scaled, n_heads, mask)


@multi_head_attention.mistake("leaves out the last projection")
def without_w_output(query, key, value, params, n_heads, mask=None):
    """The merged heads come out as they are. Without w_output each head writes into its own features only, and nobody
    downstream can weigh one head against another. Reread 'Why the heads are concatenated'."""
    d = params["w_output"].shape[0]
    as_it_is = params | {"w_output": np.eye(d, dtype=params["w_output"].dtype)}
    return naive(query, key, value, as_it_is, n_heads, mask, output_bias=False)


@multi_head_attention.mistake("leaves out the biases of the projections")
def without_biases(query, key, value, params, n_heads, mask=None):
    """b_query, b_key and b_value are missing. In a fresh nn.MultiheadAttention they are zero, so a comparison with a
    fresh layer passes; after the first training step it fails. Reread 'Parity with PyTorch'."""
    return naive(query, key, value, params, n_heads, mask, biases=())


@multi_head_attention.mistake("leaves out the bias of the output")
def without_output_bias(query, key, value, params, n_heads, mask=None):
    """b_output is missing. It is zero in a fresh layer, so a comparison with a fresh layer passes. Reread 'The whole
    layer'."""
    return naive(query, key, value, params, n_heads, mask, output_bias=False)


@multi_head_attention.mistake("gives the mask no axis for the heads")
def mask_without_heads(query, key, value, params, n_heads, mask=None):
    """A mask (batch, T_query, T_key) is lined up from the right with scores (batch, n_heads, T_query, T_key): the batch
    meets the heads. That fails, or, with as many sentences as heads, runs and hands sentence b's mask to head b of
    everyone. Put an axis of length 1 in the heads' place. Reread 'The mask and the heads'."""
    return naive(query, key, value, params, n_heads, mask, expand=False)


@multi_head_attention.mistake("reads the mask the other way round")
def inverted_mask(query, key, value, params, n_heads, mask=None):
    """What should be seen is hidden, and what should be hidden is seen. In this book True means *may attend*; only
    nn.MultiheadAttention means the opposite. Reread 'The mask and the heads'."""
    return reference.multi_head_attention(query, key, value, params, n_heads, None if mask is None else ~mask)


@multi_head_attention.mistake("ignores the mask")
def mask_ignored(query, key, value, params, n_heads, mask=None):
    """The answer does not depend on the mask: everyone sees everything. Hand it to `masked_attention`, with an axis for
    the heads. Reread 'The mask and the heads'."""
    return naive(query, key, value, params, n_heads)


@multi_head_attention.mistake("uses one wide head")
def one_wide_head(query, key, value, params, n_heads, mask=None):
    """The projections are never split: there is one softmax, over scores made from all features at once, and a single
    pattern of attention. The point of heads is a softmax for each. Reread 'Why one softmax is not enough'."""
    return reference.multi_head_attention(query, key, value, params, 1, mask)


@multi_head_attention.mistake("makes the values from the keys' input")
def values_from_key(query, key, value, params, n_heads, mask=None):
    """w_value is applied to `key`. In the paper's model key and value are the same array, so it works there; but the
    layer has three inputs, and `value` is one of them. Reread 'The whole layer'."""
    return reference.multi_head_attention(query, key, key, params, n_heads, mask)


@multi_head_attention.mistake("attends to its own query")
def self_attention_only(query, key, value, params, n_heads, mask=None):
    """Queries, keys and values are all made from `query`: that is self-attention, one use of this layer. Between
    encoder and decoder the keys and values come from elsewhere. Reread 'The whole layer'."""
    return reference.multi_head_attention(query, query, query, params, n_heads, mask)


@multi_head_attention.mistake("lets the heads compete")
def softmax_over_heads(query, key, value, params, n_heads, mask=None):
    """The softmax runs over the heads, so that for each pair of words the heads share out one unit. It is each *row* of
    each head that adds up to one: softmax along the last axis. Reread 'From the loop to an axis'."""
    queries, keys, values = projected_heads(query, key, value, params, n_heads)
    scores = queries @ turned(keys) / math.sqrt(keys.shape[-1])
    weights = softmax(scores.swapaxes(-1, -3)).swapaxes(-1, -3)
    weights = weights if mask is None else np.where(np.expand_dims(mask, -3), weights, 0)
    return reference.merge_heads(weights @ values) @ params["w_output"] + params["b_output"], None


@multi_head_attention.mistake("promotes float32 to float64")
def promoted(query, key, value, params, n_heads, mask=None):
    """The numbers are right, but float32 came back as float64: somewhere a float64 NumPy scalar, such as np.sqrt of an
    integer, has touched the scores. math.sqrt gives a plain number and promotes nothing. Reread 'What one head costs,
    and how it is scaled'."""
    output, _ = reference.multi_head_attention(query, key, value, params, n_heads, mask)
    return output.astype(np.float64), None


def projected_heads(query, key, value, params, n_heads):
    """Queries, keys and values of all heads."""
    inputs = zip(PROJECTIONS, (query, key, value), strict=True)
    return [reference.split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads) for name, x in inputs]


@multi_head_attention.equivalent
def with_large_negative_scores(query, key, value, params, n_heads, mask=None):
    return naive(query, key, value, params, n_heads, mask)


@multi_head_attention.equivalent
def one_head_after_the_other(query, key, value, params, n_heads, mask=None):
    output = params["b_output"]
    heads = [np.split(params[f"{kind}_{name}"], n_heads, axis=-1) for name in PROJECTIONS for kind in "wb"]
    for w_q, b_q, w_k, b_k, w_v, b_v, w_o in zip(*heads, np.split(params["w_output"], n_heads), strict=True):
        scores = (query @ w_q + b_q) @ turned(key @ w_k + b_k) / math.sqrt(w_k.shape[1])
        if mask is None:
            weights = softmax(scores)
        else:
            strengths = np.exp(scores - scores.max(axis=-1, keepdims=True)) * mask
            weights = strengths / np.maximum(strengths.sum(axis=-1, keepdims=True), np.finfo(scores.dtype).tiny)
        output = output + weights @ (value @ w_v + b_v) @ w_o
    return output, "a cache of another kind"


@multi_head_attention.equivalent
def all_by_einsum(query, key, value, params, n_heads, mask=None):
    queries, keys, values = projected_heads(query, key, value, params, n_heads)
    scores = np.einsum("...hqd,...hkd->...hqk", queries * keys.shape[-1] ** -0.5, keys)
    hidden = False if mask is None else ~mask[..., np.newaxis, :, :]
    weights = np.where(hidden, 0, softmax(np.where(hidden, scores.dtype.type(-1e30), scores)))
    w_output = params["w_output"].reshape(n_heads, -1, params["w_output"].shape[-1])
    return np.einsum("...hqk,...hkd,hdm->...qm", weights, values, w_output) + params["b_output"], ()


# ---------------------------------------------------------------------------- multi_head_attention_backward

multi_head_attention_backward = Exercise(
    reference.multi_head_attention_backward,
    outputs={
        "grad_query": "... T_query d_query",
        "grad_key": "... T_key d_key_in",
        "grad_value": "... T_key d_value_in",
        "grad_params": "",
    },
    order=("grad_params", "grad_value", "grad_query", "grad_key"),
    section="The way back",
    uses=("split_heads", "merge_heads"),
)


def way_back(draw, batch=(), **options):
    """A random cotangent and the cache that the forward pass left."""
    output, cache = reference.multi_head_attention(**layer(draw, batch, **options))
    return {"grad_output": draw.normal(*output.shape, dtype=output.dtype), "cache": cache}


@multi_head_attention_backward.cases("the idea", points=3)
def _(draw):
    yield "one sentence asks another", way_back(draw)
    yield "all widths agree, and all lengths", way_back(draw, square=6, n_heads=3, T_query=4, T_key=4)


@multi_head_attention_backward.cases("batches", points=2)
def _(draw):
    yield "one batch axis", way_back(draw, small_batch(draw, 1, avoid=3), n_heads=3)
    yield "two batch axes", way_back(draw, small_batch(draw, 2, avoid=2), n_heads=2)
    yield "a batch, all widths and lengths agree", way_back(draw, (2,), square=6, n_heads=3, T_query=4, T_key=4)


@multi_head_attention_backward.cases("masks", points=1)
def _(draw):
    yield "a mask for each sentence", way_back(draw, small_batch(draw, 1, avoid=3), n_heads=3, mask="each")


@multi_head_attention_backward.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", way_back(draw, small_batch(draw, 1, avoid=2), n_heads=2, dtype=np.float32)
    yield "a single head", way_back(draw, (2,), n_heads=1)
    yield "one feature for each head", way_back(draw, (2,), n_heads=3, d_key=1, d_value=1)


def back(
    grad_output, cache, *,
    split=reference.split_heads, merge=reference.merge_heads, through=attention_backward, linear_back=linear_backward,
):  # fmt: skip
    """The way back, with one of its parts replaced."""
    *projections, attention_cache, output_cache = cache
    grads = {}
    grad_merged, grads["w_output"], grads["b_output"] = linear_back(grad_output, output_cache)
    grad_heads = through(split(grad_merged, attention_cache[0].shape[-3]), attention_cache)
    grad_inputs = []
    for name, grad, projection in zip(PROJECTIONS, grad_heads, projections, strict=True):
        grad_input, grads[f"w_{name}"], grads[f"b_{name}"] = linear_back(merge(grad), projection)
        grad_inputs.append(grad_input)
    return *grad_inputs, grads


def instead(grad_output, cache, **wrong):
    """The right gradients, some parameters' replaced."""
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    return *grad_inputs, grads | wrong


def through_scores(jacobian=softmax_backward, d_scale=None, keys_from=None):
    """`attention_backward` with one of its parts replaced."""

    def through(grad_output, cache):
        queries, keys, values, weights = cache
        scale = 1 / math.sqrt(d_scale(keys) if d_scale else keys.shape[-1])
        grad_scores = jacobian(grad_output @ turned(values), weights) * scale
        grad_keys = keys_from(grad_scores, cache) if keys_from else turned(grad_scores) @ queries
        return grad_scores @ keys, grad_keys, turned(weights) @ grad_output

    return through


@multi_head_attention_backward.mistake("takes w_output's gradient from the layer's input")
def w_output_from_the_input(grad_output, cache):
    """A weight's gradient is made from what *it* was multiplied with: x^T dC for C = xW. w_output was multiplied with
    the merged heads, not with the query. Reread 'The way back'."""
    return instead(grad_output, cache, w_output=as_rows(cache[0][0]).T @ as_rows(grad_output))


@multi_head_attention_backward.mistake("splits the gradient without moving an axis")
def back_split_is_a_view(grad_output, cache):
    """The gradient of the merged heads is reshaped straight to (..., n_heads, T, d_head): the right shape, with the
    gradients of other positions in it. Undo the merge as it was done, with the axes exchanged: that is `split_heads`.
    Reread 'The way back'."""
    return back(grad_output, cache, split=view_split)


@multi_head_attention_backward.mistake("merges the gradients without moving an axis")
def back_merge_is_a_view(grad_output, cache):
    """The gradients of queries, keys and values are reshaped straight back, so that a row holds several positions of
    one head. Undo the split as it was done: that is `merge_heads`. Reread 'The way back'."""
    return back(grad_output, cache, merge=view_merge)


@multi_head_attention_backward.mistake("averages the heads' gradients")
def heads_averaged(grad_output, cache):
    """What comes back through the heads is divided by their number. Each head has parameters of its own, and each gets
    its own gradient whole. Reread 'The way back'."""
    n_heads = cache[3][0].shape[-3]
    return back(grad_output, cache, through=lambda g, c: [x / n_heads for x in attention_backward(g, c)])


@multi_head_attention_backward.mistake("uses head 0's weights for all heads")
def first_weights_for_all(grad_output, cache):
    """Every head's gradient is made with the attention weights of head 0. With h copies of one head this passes every
    check; here the heads differ. Reread 'Copies of one head see nothing'."""
    *roles, weights = cache[3]
    first = np.broadcast_to(weights[..., :1, :, :], weights.shape)
    return back(grad_output, (*cache[:3], (*roles, first), cache[4]))


@multi_head_attention_backward.mistake("goes through the heads in reverse")
def heads_in_reverse(grad_output, cache):
    """The last head gets the gradient that belongs to the first. Walking *back* through the layer does not turn the
    order of the heads round: they stand side by side. Reread 'Copies of one head see nothing'."""
    return back(grad_output, cache, split=lambda x, n: reference.split_heads(x, n)[..., ::-1, :, :])


@multi_head_attention_backward.mistake("treats the softmax Jacobian as diagonal")
def diagonal_jacobian(grad_output, cache):
    """You multiply by s(1 - s). Softmax mixes a whole row: each score moves every weight of its row, so the row's
    weighted average has to come off: s * (g - sum(g * s)). (It stands so in a published derivation of this layer.)
    Reread 'The way back'."""
    return back(grad_output, cache, through=through_scores(lambda g, s: g * s * (1 - s)))


@multi_head_attention_backward.mistake("makes the keys' gradient from the values")
def keys_from_values(grad_output, cache):
    """Your gradient of the keys is dS^T V, where dS^T Q belongs: a score is a product of a query and a key, so what
    comes back to the key is multiplied with the *query*. (A published formula has V here.) Reread 'The way back'."""
    from_values = through_scores(keys_from=lambda s, c: np.einsum("...qk,...kd->...kd", s, c[2]))
    return back(grad_output, cache, through=from_values)


@multi_head_attention_backward.mistake("does not transpose the scores' gradient for the keys")
def scores_not_turned(grad_output, cache):
    """`grad_scores @ queries` fits only with as many queries as keys, and is wrong even then. A key's gradient gathers
    down its *column* of the scores: dS^T Q. Reread 'The way back'."""
    return back(grad_output, cache, through=through_scores(keys_from=lambda s, c: s @ c[0]))


@multi_head_attention_backward.mistake("forgets the scale")
def scale_forgotten(grad_output, cache):
    """The forward pass divided the scores by the root of d_key, so the gradients of queries and keys carry the same
    factor; yours are too large by that root. Reread 'The way back'."""
    return back(grad_output, cache, through=through_scores(d_scale=lambda keys: 1))


@multi_head_attention_backward.mistake("scales by the root of all features")
def back_scaled_by_d_model(grad_output, cache):
    """The gradients of queries and keys are divided by the root of all heads' features together; the forward pass
    divided by the root of one head's, d_key. Reread 'What one head costs, and how it is scaled'."""
    return back(grad_output, cache, through=through_scores(d_scale=lambda keys: keys.shape[-1] * keys.shape[-3]))


@multi_head_attention_backward.mistake("averages over the batch")
def batch_averaged(grad_output, cache):
    """The parameters' gradients are divided by the size of the first axis. Every sentence used the same weights, and
    where paths meet their gradients *add*; a mean belongs into the loss and arrives with grad_output. Reread 'The way
    back'."""
    n = grad_output.shape[0] if grad_output.ndim > 2 else 1
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    return *grad_inputs, {name: grad / n for name, grad in grads.items()}


@multi_head_attention_backward.mistake("keeps only the last sentence's share")
def last_sentence_only(grad_output, cache):
    """The parameters' gradients hold the share of the last sentence alone: a loop that assigns (`=`) where it should
    add (`+=`). Reread 'The way back'."""

    def last_only(grad, linear_cache):
        grad_x, *right = linear_backward(grad, linear_cache)
        if grad.ndim > 2:
            right = linear_backward(grad[-1], (linear_cache[0][-1], linear_cache[1]))[1:]
        return grad_x, *right

    return back(grad_output, cache, linear_back=last_only)


@multi_head_attention_backward.mistake("adds the biases' gradients up over one axis")
def biases_over_one_axis(grad_output, cache):
    """`sum(axis=0)` is the whole sum only while there is no batch. A bias was added to every position of every
    sentence, so its gradient is the sum over *all* leading axes. Reread 'The way back'."""

    def one_axis(grad, linear_cache):
        return *linear_backward(grad, linear_cache)[:2], grad.sum(axis=0)

    return back(grad_output, cache, linear_back=one_axis)


@multi_head_attention_backward.mistake("returns the weights' gradients in PyTorch's layout")
def pytorch_layout(grad_output, cache):
    """Your gradients of the weights are transposed: (out, in), as nn.Linear keeps them. A gradient has the shape of its
    array, and ours are (in, out). Reread 'Parity with PyTorch'."""
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    return *grad_inputs, {name: grad.T for name, grad in grads.items()}


@multi_head_attention_backward.mistake("adds the three inputs' gradients up")
def inputs_added_up(grad_output, cache):
    """You add up the gradients of query, key and value. That is right for self-attention, where the three are one
    array, but it is the caller who knows it; this layer has three inputs and returns three gradients. Reread 'The way
    back'."""
    *grad_inputs, grads = reference.multi_head_attention_backward(grad_output, cache)
    total = sum(grad_inputs[1:], grad_inputs[0])
    return total, total, total, grads


@multi_head_attention_backward.mistake("takes the cotangent for ones")
def ones_for_the_cotangent(grad_output, cache):
    """Your gradients are those of the plain sum of the outputs. How the loss depends on each output is what grad_output
    tells you. Reread 'Copies of one head see nothing'."""
    return reference.multi_head_attention_backward(np.ones_like(grad_output), cache)


@multi_head_attention_backward.equivalent
def back_with_the_key_bias_set_to_zero(grad_output, cache):
    *grad_inputs, grads = back(grad_output, cache)
    return *grad_inputs, grads | {"b_key": np.zeros_like(grads["b_key"])}


@multi_head_attention_backward.equivalent
def back_head_by_head(grad_output, cache):
    def each_head(grad_heads, attention_cache):
        each = [
            attention_backward(grad_heads[..., h, :, :], [array[..., h, :, :] for array in attention_cache])
            for h in range(grad_heads.shape[-3])
        ]
        return [np.stack(role, axis=-3) for role in zip(*each, strict=True)]

    return back(grad_output, cache, through=each_head, merge=concatenated, split=stacked_slices)


@multi_head_attention_backward.equivalent
def back_through_the_jacobian(grad_output, cache):
    def jacobian_product(grad, weights):
        jacobian = np.eye(weights.shape[-1], dtype=weights.dtype) * weights[..., np.newaxis, :]
        jacobian = jacobian - weights[..., :, np.newaxis] * weights[..., np.newaxis, :]
        return np.einsum("...j,...ij->...i", grad, jacobian)

    return back(grad_output, cache, through=through_scores(jacobian_product))


@multi_head_attention_backward.equivalent
def back_by_einsum(grad_output, cache):
    def einsum_back(grad, linear_cache):
        x, weight = linear_cache
        grad_weight = np.einsum("ni,no->io", as_rows(x), as_rows(grad))
        return np.einsum("...o,io->...i", grad, weight), grad_weight, np.einsum("no->o", as_rows(grad))

    return list(back(grad_output, cache, linear_back=einsum_back))


# ----------------------------------------------------------------------------------------- fused_projection

fused_projection = Exercise(
    reference.fused_projection,
    outputs={"queries": "... T d_model", "keys": "... T d_model", "values": "... T d_model"},
    section="Three projections in one",
)


def fused(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """Inputs of the fused projection, no two sizes alike unless given."""
    drawn = draw.sizes(2 + n_batch_axes)
    size = dict(zip(("T", "d_model"), drawn, strict=False)) | sizes
    d_model = size["d_model"]
    return {
        "x": draw.normal(*drawn[2:], size["T"], d_model, dtype=dtype),
        "w_fused": draw.normal(d_model, 3 * d_model, dtype=dtype),
        "b_fused": draw.normal(3 * d_model, dtype=dtype),
    }


@fused_projection.cases("the idea", points=1)
def _(draw):
    yield "one sentence", fused(draw)
    yield "three words, three features", fused(draw, T=3, d_model=3)


@fused_projection.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", fused(draw, 1)
    yield "two batch axes", fused(draw, 2)
    yield "float32", fused(draw, 1, dtype=np.float32)


@fused_projection.mistake("unpacks keys before queries")
def keys_first(x, w_fused, b_fused):
    """Your first third is taken for the keys. The packing is query, key, value. Exchanged *twice*, here and later in
    the scores, it goes unnoticed (a lecture notebook does so), until somebody mends one of the two. Reread 'Three
    projections in one'."""
    queries, keys, values = reference.fused_projection(x, w_fused, b_fused)
    return keys, queries, values


@fused_projection.mistake("unpacks values before keys")
def values_second(x, w_fused, b_fused):
    """Your second third is taken for the values. The packing is query, key, value. Reread 'Three projections in
    one'."""
    queries, keys, values = reference.fused_projection(x, w_fused, b_fused)
    return queries, values, keys


@fused_projection.mistake("takes every third feature")
def every_third(x, w_fused, b_fused):
    """You take features 0, 3, 6, ... for the queries. The three matrices stand beside each other as blocks: the first
    d_model columns make the queries. Reread 'Three projections in one'."""
    projected = x @ w_fused + b_fused
    return projected[..., 0::3], projected[..., 1::3], projected[..., 2::3]


@fused_projection.mistake("reshapes without moving an axis")
def thirds_of_the_array(x, w_fused, b_fused):
    """The product is reshaped to (3, ..., T, d_model), which cuts the *positions* in three. Split the last axis, then
    move the three to the front. Reread 'Why a reshape alone will not do'."""
    return tuple((x @ w_fused + b_fused).reshape(3, *x.shape))


@fused_projection.mistake("leaves out the bias")
def fused_without_bias(x, w_fused, b_fused):
    """b_fused is missing. A fresh nn.MultiheadAttention has zeros there, so a comparison with a fresh layer passes.
    Reread 'Three projections in one'."""
    return reference.fused_projection(x, w_fused, np.zeros_like(b_fused))


@fused_projection.mistake("returns the product in one piece")
def in_one_piece(x, w_fused, b_fused):
    """The product is right, and still in one piece of width 3 * d_model. Take it apart along the last axis, into
    queries, keys and values. Reread 'Three projections in one'."""
    return x @ w_fused + b_fused


@fused_projection.equivalent
def three_products(x, w_fused, b_fused):
    weights, biases = np.split(w_fused, 3, axis=1), np.split(b_fused, 3)
    return tuple(x @ weight + bias for weight, bias in zip(weights, biases, strict=True))


@fused_projection.equivalent
def fused_by_einsum(x, w_fused, b_fused):
    d_model = x.shape[-1]
    projected = np.einsum("...i,irj->r...j", x, w_fused.reshape(d_model, 3, d_model))
    return tuple(part + bias for part, bias in zip(projected, b_fused.reshape(3, -1), strict=True))


@fused_projection.equivalent
def split_then_moved(x, w_fused, b_fused):
    projected = (x @ w_fused + b_fused).reshape(*x.shape[:-1], 3, -1)
    return list(np.moveaxis(projected, -2, 0))


# ------------------------------------------------------------------------------ predicted_multi_head_shapes

predicted_multi_head_shapes = Exercise(
    reference.predicted_multi_head_shapes,
    outputs={"shapes": ""},
    section="Predict the shapes",
)


def layer_sizes(draw, **given):
    """Sizes of a layer, no two alike unless given; n_heads divides d_model."""
    n_batch, T_query, T_key, n_heads, d_head = draw.sizes(5)
    sizes = {"n_batch": n_batch, "T_query": T_query, "T_key": T_key, "d_model": n_heads * d_head, "n_heads": n_heads}
    return sizes | given


@predicted_multi_head_shapes.cases("any sizes", points=2)
def _(draw):
    yield "some sizes", layer_sizes(draw)
    yield "other sizes", layer_sizes(draw)


@predicted_multi_head_shapes.cases("sizes of one", points=1)
def _(draw):
    yield "a single head", layer_sizes(draw, n_heads=1)
    yield "a single sentence", layer_sizes(draw, n_batch=1)


def shapes_but(sizes, **wrong):
    """The right shapes, some replaced."""
    return reference.predicted_multi_head_shapes(**sizes) | wrong


@predicted_multi_head_shapes.mistake("gives every head all the features")
def full_width_heads(**sizes):
    """The projections make d_model features for all heads *together*: each head has d_model // n_heads of them, which
    is why many heads cost no more than one. Reread 'What one head costs, and how it is scaled'."""
    per_position = (sizes["n_batch"], sizes["n_heads"]), (sizes["d_model"],)
    queries, keys = (per_position[0] + (sizes[T],) + per_position[1] for T in ("T_query", "T_key"))
    return shapes_but(sizes, queries=queries, keys=keys, attended=queries)


@predicted_multi_head_shapes.mistake("leaves the heads behind the positions")
def heads_behind_positions(**sizes):
    """The heads stand before the positions, so that the last two axes are one head's matrix. Reread 'From the loop to
    an axis'."""
    right = shapes_but(sizes)
    moved = {name: tuple(right[name][i] for i in (0, 2, 1, 3)) for name in ("queries", "keys", "attended")}
    return right | moved


@predicted_multi_head_shapes.mistake("has one matrix of weights for all heads")
def weights_without_heads(**sizes):
    """Each head has weights of its own: (n_batch, n_heads, T_query, T_key). What nn.MultiheadAttention returns by
    default is their average. Reread 'One picture for each head'."""
    return shapes_but(sizes, weights=(sizes["n_batch"], sizes["T_query"], sizes["T_key"]))


@predicted_multi_head_shapes.mistake("keeps an axis for the average over the heads")
def average_keeps_heads(**sizes):
    """A mean over the heads takes their axis away. (With keepdims=True a 1 would be left, but nobody asked for it.)
    Reread 'One picture for each head'."""
    right = shapes_but(sizes)
    return right | {"averaged_weights": right["weights"]}


@predicted_multi_head_shapes.mistake("makes the output as wide as one head")
def output_of_one_head(**sizes):
    """The heads are put beside each other, not averaged: merged they have d_model features again. Reread 'Why the heads
    are concatenated'."""
    narrow = (sizes["n_batch"], sizes["T_query"], sizes["d_model"] // sizes["n_heads"])
    return shapes_but(sizes, merged=narrow, output=narrow)


@predicted_multi_head_shapes.mistake("turns the weights round")
def weights_turned(**sizes):
    """A row of the weights belongs to a query, so T_query comes before T_key. Reread 'One picture for each head'."""
    n_batch, n_heads, T_query, T_key = (sizes[name] for name in ("n_batch", "n_heads", "T_query", "T_key"))
    turned_round = {"weights": (n_batch, n_heads, T_key, T_query), "averaged_weights": (n_batch, T_key, T_query)}
    return shapes_but(sizes, **turned_round)


@predicted_multi_head_shapes.mistake("gives the output a row for each key")
def output_for_keys(**sizes):
    """The keys are what is averaged over: every head gives one answer for each *query*, and so does the layer. Reread
    'The whole layer'."""
    n_batch, T_key, d_model, n_heads = (sizes[name] for name in ("n_batch", "T_key", "d_model", "n_heads"))
    rows = (n_batch, T_key, d_model)
    return shapes_but(sizes, attended=(n_batch, n_heads, T_key, d_model // n_heads), merged=rows, output=rows)


# --------------------------------------------------------------------------------- repaired_fused_attention

repaired_fused_attention = Exercise(
    reference.repaired_fused_attention,
    outputs={"output": "... T d_model", "weights": "... n_heads T T"},
    section="Find the bug",
)


def fused_layer(draw, n_batch_axes=0, dtype=np.float64, n_heads=None, d_head=None, biased=True, q_is_k=False):
    """Inputs of the fused layer. One feature hides any slip of the scale, zeros hide the biases, and query weights
    equal to the key weights hide the packing: so each mistake can be tested by itself."""
    T, heads, width, *batch = draw.sizes(3 + n_batch_axes)
    n_heads, d_head = n_heads or heads, d_head or width
    d_model = n_heads * d_head
    w_query, w_key, w_value, w_output = draw.normal(4, d_model, d_model, dtype=dtype) / math.sqrt(d_model)
    b_query, b_key, b_value, b_output = draw.normal(4, d_model, dtype=dtype) * biased
    w_key, b_key = (w_query, b_query) if q_is_k else (w_key, b_key)
    return {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "w_fused": np.concatenate([w_query, w_key, w_value], axis=1),
        "b_fused": np.concatenate([b_query, b_key, b_value]),
        "w_output": w_output,
        "b_output": b_output,
        "n_heads": n_heads,
    }


@repaired_fused_attention.cases("the packing", points=1)
def _(draw):
    inputs = fused_layer(draw, 1, n_heads=3, biased=False)
    x, w_output = draw.normal(3, 6, inputs["x"].shape[-1]), np.zeros_like(inputs["w_output"])
    # Scores so large that every head looks at one word alone, whatever the scale; and nothing left of the output.
    yield "very sharp heads, no biases, no output", inputs | {"x": 1e5 * x, "w_output": w_output}


@repaired_fused_attention.cases("the biases", points=1)
def _(draw):
    yield "a layer of one feature, keys equal to queries", fused_layer(draw, 1, n_heads=1, d_head=1, q_is_k=True)


@repaired_fused_attention.cases("the scale", points=1)
def _(draw):
    yield "several heads, no biases, keys equal to queries", fused_layer(draw, 1, biased=False, q_is_k=True)


@repaired_fused_attention.cases("all of it together", points=1)
def _(draw):
    yield "one sentence", fused_layer(draw)
    yield "two batch axes", fused_layer(draw, 2)
    yield "float32", fused_layer(draw, 1, dtype=np.float32)


def partly_mended(
    x, w_fused, b_fused, w_output, b_output, n_heads, *,
    swapped=False, unbiased=False, scale="", merge=reference.merge_heads,
):  # fmt: skip
    """The published layer with any of its mistakes left in. scale: "late", "wide" or, right, ""."""
    projected = x @ w_fused if unbiased else x @ w_fused + b_fused
    queries, keys, values = (reference.split_heads(part, n_heads) for part in np.split(projected, 3, axis=-1))
    queries, keys = (keys, queries) if swapped else (queries, keys)
    d_model = w_output.shape[0]
    before = {"late": 1, "wide": math.sqrt(d_model), "": math.sqrt(d_model // n_heads)}[scale]
    weights = softmax(queries @ turned(keys) / before)
    output = merge(weights @ values) @ w_output + b_output
    return output / (math.sqrt(d_model) if scale == "late" else 1), weights


@repaired_fused_attention.mistake("nothing is mended yet")
def as_published(**inputs):
    """All three mistakes are still there. Start where the product is taken apart: in which order do the three thirds
    stand? Reread 'Three projections in one'."""
    return partly_mended(**inputs, swapped=True, unbiased=True, scale="late")


@repaired_fused_attention.mistake("one found: the packing is right; two to go")
def bias_and_scale_left(**inputs):
    """Queries and keys are in their places. Next: does every argument of the function have an effect? Reread 'Three
    projections in one'."""
    return partly_mended(**inputs, unbiased=True, scale="late")


@repaired_fused_attention.mistake("one found: the biases are in; two to go")
def packing_and_scale_left(**inputs):
    """The biases are in. Next: in which order do the three thirds of the product stand? Reread 'Three projections in
    one'."""
    return partly_mended(**inputs, swapped=True, scale="late")


@repaired_fused_attention.mistake("one found: the scale is right; two to go")
def packing_and_bias_left(**inputs):
    """The scale is right, in its place and in its size. Next: in which order do the three thirds of the product stand?
    Reread 'Three projections in one'."""
    return partly_mended(**inputs, swapped=True, unbiased=True)


@repaired_fused_attention.mistake("two found; the output is still divided")
def late_scale_left(**inputs):
    """One is left: a root still divides the output of the layer. It belongs to the scores, before the softmax, and it
    is the root of *one head's* width. Reread 'What one head costs, and how it is scaled'."""
    return partly_mended(**inputs, scale="late")


@repaired_fused_attention.mistake("two found; the biases are still missing")
def bias_left(**inputs):
    """One is left: an argument that has no effect. On a fresh layer it is zero, and nobody would notice. Reread 'Three
    projections in one'."""
    return partly_mended(**inputs, unbiased=True)


@repaired_fused_attention.mistake("two found; queries and keys are still exchanged")
def packing_left(**inputs):
    """One is left: what is called `k` is made by the weights of the queries. Reread 'Three projections in one'."""
    return partly_mended(**inputs, swapped=True)


@repaired_fused_attention.mistake("scales the scores by the root of all features; the rest is right")
def wide_scale_left(**inputs):
    """The scale is in its place now, before the softmax. But it is the root of d_model, the width of all heads
    together, and a score adds up one head's products only. Reread 'What one head costs, and how it is scaled'."""
    return partly_mended(**inputs, scale="wide")


@repaired_fused_attention.mistake("scales by the root of all features; the packing is left too")
def wide_scale_and_packing_left(**inputs):
    """The scale is before the softmax, but takes the root of all features, and not of one head's. And look again at the
    order of the three thirds. Reread 'What one head costs, and how it is scaled'."""
    return partly_mended(**inputs, scale="wide", swapped=True)


@repaired_fused_attention.mistake("scales by the root of all features; the biases are left too")
def wide_scale_and_bias_left(**inputs):
    """The scale is before the softmax, but takes the root of all features, and not of one head's. And one argument
    still has no effect. Reread 'What one head costs, and how it is scaled'."""
    return partly_mended(**inputs, scale="wide", unbiased=True)


@repaired_fused_attention.mistake("scales by the root of all features; nothing else is mended")
def wide_scale_all_else_left(**inputs):
    """The scale is before the softmax, but takes the root of all features, and not of one head's. Two more are left:
    the order of the three thirds, and an argument without effect. Reread 'What one head costs, and how it is
    scaled'."""
    return partly_mended(**inputs, scale="wide", swapped=True, unbiased=True)


@repaired_fused_attention.mistake("returns the average of the weights")
def averages_the_weights(**inputs):
    """The output is right, and the weights are averaged over the heads, as nn.MultiheadAttention does by default. Here
    each head's own are wanted: (..., n_heads, T, T). Reread 'One picture for each head'."""
    output, weights = partly_mended(**inputs)
    return output, weights.mean(axis=-3)


@repaired_fused_attention.equivalent
def mended_in_place(**inputs):
    return partly_mended(**inputs)


@repaired_fused_attention.equivalent
def mended_by_three_products(x, w_fused, b_fused, w_output, b_output, n_heads):
    heads = [stacked_slices(part, n_heads) for part in three_products(x, w_fused, b_fused)]
    attended, (*_, weights) = attention(*heads)
    return [concatenated(attended) @ w_output + b_output, weights]


@repaired_fused_attention.equivalent
def mended_with_einsum(x, w_fused, b_fused, w_output, b_output, n_heads):
    d_model = x.shape[-1]
    projected = x @ w_fused + b_fused
    parts = projected.reshape(*x.shape[:-1], 3, n_heads, d_model // n_heads)
    q, k, v = (parts[..., i, :, :] for i in range(3))
    scores = np.einsum("...qhd,...khd->...hqk", q, k) * (d_model // n_heads) ** -0.5
    weights = softmax(scores)
    attended = np.einsum("...hqk,...khd->...qhd", weights, v).reshape(x.shape)
    return attended @ w_output + b_output, weights
