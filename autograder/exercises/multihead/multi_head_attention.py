"""multi_head_attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.multihead.shared import (
    PROJECTIONS,
    interleaved_merge,
    interleaved_split,
    layer,
    small_batch,
    turned,
    view_merge,
    view_split,
)
from solutions import multihead as reference
from solutions.attention import softmax

multi_head_attention = Exercise(
    reference.multi_head_attention,
    outputs={"output": "... T_query d_model", "cache": UNJUDGED},
    section="The whole layer",
    uses=("split_heads", "merge_heads"),
)


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
    yield "scores in the thousands", steep(layer(draw, n_heads=2))


def steep(inputs, height=3000):
    """The layer, its queries scaled so that its largest score (in size) becomes `height`."""
    params, n_heads = inputs["params"], inputs["n_heads"]
    queries, keys, _ = projected_heads(inputs["query"], inputs["key"], inputs["value"], params, n_heads)
    scores = queries @ turned(keys) / math.sqrt(keys.shape[-1])
    factor = height / scores.flat[np.abs(scores).argmax()]
    return inputs | {"params": params | {name: factor * params[name] for name in ("w_query", "b_query")}}


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


@multi_head_attention.mistake("overflows on large scores")
def unstable(query, key, value, params, n_heads, mask=None):
    """Right for small scores, NaN for large ones: the softmax in it does not take each row's maximum off. Chapter 1's
    `attention` and chapter 3's `masked_attention` do. Reread 'The whole layer'."""
    queries, keys, values = projected_heads(query, key, value, params, n_heads)
    strengths = np.exp(queries @ turned(keys) / math.sqrt(keys.shape[-1]))
    strengths = strengths if mask is None else np.where(np.expand_dims(mask, -3), strengths, 0)
    total = strengths.sum(axis=-1, keepdims=True)
    weights = strengths / np.where(total == 0, 1, total).astype(strengths.dtype)
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
