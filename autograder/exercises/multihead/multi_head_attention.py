import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from autograder.exercises.masking.masked_softmax import (
    even_weights_when_empty,
    lowest_number_then_zero,
    masked_columns,
    nan_when_empty,
    no_maximum,
    softmax_before_and_after,
    softmax_of_the_weights,
)
from autograder.exercises.multihead.shared import (
    PROJECTIONS,
    interleaved_merge,
    interleaved_split,
    layer,
    misread_merge,
    naive,
    projected_heads,
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
)
wrong = short_mistakes(multi_head_attention)


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
    inputs = layer(draw, small_batch(draw, 1, avoid=3), n_heads=3, mask="shared")
    yield "one row for all queries, (T_key,)", inputs | {"mask": inputs["mask"][0]}
    yield "a causal mask", layer(draw, T_query=4, T_key=4) | {"mask": np.tri(4, dtype=bool)}


@multi_head_attention.cases("float32 and edge cases", points=1)
def _(draw):
    yield "float32", layer(draw, small_batch(draw, 1, avoid=2), n_heads=2, dtype=np.float32)
    yield "a single head", layer(draw, (2,), n_heads=1)
    yield "a single key", layer(draw, (2,), n_heads=3, T_key=1)
    yield "one feature for each head", layer(draw, (2,), n_heads=3, d_key=1, d_value=1)
    inputs = steep(layer(draw, n_heads=2))
    yield "scores in the thousands", inputs
    two = {name: np.stack([inputs[name]] * 2) for name in ("query", "key", "value")}
    two["key"][1] /= 100
    yield "sentences with scores of very different size", inputs | two


def steep(inputs, height=3000):
    """Return the layer, with its queries scaled so that the largest absolute score is `height`."""
    params, n_heads = inputs["params"], inputs["n_heads"]
    queries, keys, _ = projected_heads(inputs["query"], inputs["key"], inputs["value"], params, n_heads)
    scores = queries @ turned(keys) / math.sqrt(keys.shape[-1])
    factor = height / scores.flat[np.abs(scores).argmax()]
    return inputs | {"params": params | {name: factor * params[name] for name in ("w_query", "b_query")}}


wrong("views_only", naive, split=view_split, merge=view_merge)("""
    splits and merges without moving an axis -> Why a reshape alone will not do
    Both reshapes give the right shapes, and undo each other, so there is no error. But each "head" is a run of
    positions and not a slice of the features, and attention stays within that run. Swap the axes of positions and
    heads.""")
wrong("merge_is_a_view", naive, merge=view_merge)("""
    merges without moving an axis -> Why a reshape alone will not do
    You reshape the heads straight to (..., T, n_heads * d_head), so a row contains several positions of one head. First
    move the heads' axis next to the features.""")
wrong("merged_across_the_batch", naive, merge=misread_merge)("""
    merges with batch and heads exchanged -> From the loop to an axis
    Your merge confuses the axes of batch and heads, so a row contains heads of several sentences. The shape is right,
    and for one sentence the numbers are, too. The heads are axis -3, after the batch.""")


@multi_head_attention.mistake("exchanges the first two axes", reread="From the loop to an axis")
def first_two_axes_exchanged(query, key, value, params, n_heads, mask=None):
    """You swap the first two axes, as `swapaxes(0, 1)` does. For one sentence, these axes are positions and heads. With
    a batch, they are sentences and positions, so the heads of one position attend to each other. Count from the
    end: `swapaxes(-3, -2)`."""

    def split(x, n_heads):
        return x.reshape(*x.shape[:-1], n_heads, -1).swapaxes(0, 1)

    def merge(heads):
        turned_back = heads.swapaxes(0, 1)
        return turned_back.reshape(*turned_back.shape[:-2], -1)

    return naive(query, key, value, params, n_heads, mask, split=split, merge=merge)


wrong("interleaved", naive, split=interleaved_split, merge=interleaved_merge)("""
    interleaves the heads -> From the loop to an axis
    Each head takes every n_heads-th feature instead of a block of neighbours. Such a layer works, but it is a different
    layer: weights copied from elsewhere would belong to other heads.""")
wrong("scaled_by_d_model", naive, d_scale=lambda keys, values: keys.shape[-1] * keys.shape[-3])("""
    scales by the root of all features -> What one head costs, and how it is scaled
    You divide the scores by the root of d_model, the width of all heads together. A score is a sum of one head's
    products only: take the root of d_key = d_model / n_heads. Your root flattens every head's attention.""")
wrong("scaled_by_n_heads", naive, d_scale=lambda keys, values: keys.shape[-3])("""
    scales by the number of heads -> What one head costs, and how it is scaled
    You divide the scores by the root of n_heads. A score is a sum of one head's d_key products, so the number of heads
    does not matter.""")
wrong("scaled_by_T_key", naive, d_scale=lambda keys, values: keys.shape[-2])("""
    scales by the number of keys -> What one head costs, and how it is scaled
    You divide the scores by the root of T_key, the number of keys. A score is a sum of one head's d_key products, and
    d_key is the last axis of the keys, not the one before it.""")
wrong("scaled_by_d_value", naive, d_scale=lambda keys, values: values.shape[-1])("""
    scales by the width of the values -> What one head costs, and how it is scaled
    You divide the scores by the root of d_value, the width of one head's values. A score is a sum of d_key products, in
    which the values do not occur.""")
wrong("divided_by_d_key", naive, d_scale=lambda keys, values: keys.shape[-1] ** 2)("""
    divides by d_key, not by its root -> What one head costs, and how it is scaled
    You divide the scores by d_key, or twice by its root, which is the same, so each head's weights are too even. Divide
    once, by the *square root*.""")
wrong("scaled_up", naive, d_scale=lambda keys, values: 1 / keys.shape[-1])("""
    multiplies by the root of d_key instead of dividing -> What one head costs, and how it is scaled
    You multiply the scores by the root of d_key, or divide them by d_key ** -0.5, which is the same. Divide by the
    root: call chapter 1's `attention`.""")
wrong("not_scaled", naive, d_scale=lambda keys, values: 1)("""
    does not scale the scores -> What one head costs, and how it is scaled
    The division by the root of d_key, one head's width, is missing, so the wider a head is, the sharper its weights
    are.""")
wrong("scaled_after_w_output", naive, scale_late=True)("""
    divides by the root after the last projection -> What one head costs, and how it is scaled
    The root of d_key divides the *output*, which shrinks everything and leaves the softmax as it is. (The text of one
    lecture notebook describes it this way, but its code is right.) Scale the scores, before the softmax.""")
wrong("first_keys_for_all", naive, share_keys=True)("""
    all heads use the first head's keys -> From the loop to an axis
    Every head uses the keys of head 0, so the heads can no longer look for different things. Each head has keys of its
    own. (With h copies of one head this would not show.)""")


def without_mixing(params, n_heads):
    return {"w_output": np.eye(len(params["w_output"]), dtype=params["w_output"].dtype)}


wrong("averaged_answers", naive, change=lambda params, n_heads: {"w_output": params["w_output"] / n_heads})("""
    averages the heads' answers -> Why the heads are concatenated
    You divide the heads' contributions by their number. Concatenation and last projection *add* the contributions, O_1
    W_1 + O_2 W_2 + ..., each with rows of W_O of its own.""")
wrong("without_w_output", naive, output_bias=False, change=without_mixing)("""
    leaves out the last projection -> Why the heads are concatenated
    You return the merged heads as they are. Without w_output each head writes into its own features only, and no later
    layer can weigh one head against another.""")
wrong("without_biases", naive, biases=())("""
    leaves out the biases of the projections -> The whole layer
    b_query, b_key and b_value are missing. In a fresh nn.MultiheadAttention they are zero, so a comparison with a fresh
    layer passes; after the first training step it fails.""")
wrong("without_query_bias", naive, biases=("key", "value"))("""
    leaves out the bias of the queries -> The whole layer
    b_query is missing. In a fresh nn.MultiheadAttention it is zero, so a comparison with a fresh layer passes; after
    the first training step it fails.""")
wrong("without_value_bias", naive, biases=("query", "key"))("""
    leaves out the bias of the values -> The whole layer
    b_value is missing. In a fresh nn.MultiheadAttention it is zero, so a comparison with a fresh layer passes; after
    the first training step it fails.""")
wrong("without_output_bias", naive, output_bias=False)("""
    leaves out the bias of the output
    b_output is missing. It is zero in a fresh layer, so a comparison with a fresh layer passes.""")


def reparametrised(query, key, value, params, n_heads, mask=None, **others):
    """Run the layer with some parameters replaced by others."""
    params = params | {name: params[other] for name, other in others.items()}
    return reference.multi_head_attention(query, key, value, params, n_heads, mask)[0], None


wrong("key_bias_for_the_queries", reparametrised, b_query="b_key")("""
    adds the key's bias to the queries -> The whole layer
    You add `b_key` instead of `b_query`. A fresh layer has zeros in both, so a comparison with a fresh layer passes;
    after the first training step it fails.""")
wrong("keys_by_w_query", reparametrised, w_key="w_query", b_key="b_query")("""
    makes the keys with the query's projection
    You apply `w_query` to `key`, so `w_key` has no effect. The shapes fit if query and key are equally wide, as in
    self-attention. Queries and keys each have a matrix of their own.""")
wrong("queries_by_w_key", reparametrised, w_query="w_key", b_query="b_key")("""
    makes the queries with the key's projection
    You apply `w_key` to `query`, so `w_query` has no effect. The shapes fit if query and key are equally wide, as in
    self-attention. Queries and keys each have a matrix of their own.""")
wrong(
    "queries_and_keys_exchanged", reparametrised, w_query="w_key", b_query="b_key", w_key="w_query", b_key="b_query"
)("""
    swaps the projections of queries and keys
    `w_key` makes your queries and `w_query` your keys. If query and key are equally wide, as in self-attention, no
    shape shows this. With weights learnt elsewhere, a word finds the words that should find it.""")
wrong("values_by_w_query", reparametrised, w_value="w_query", b_value="b_query")("""
    makes the values with the query's projection
    You apply `w_query` to `value`, so `w_value` has no effect. Perhaps you copied a line and forgot to change one name.
    The shapes fit if all widths agree.""")
wrong("values_by_w_key", reparametrised, w_value="w_key", b_value="b_key")("""
    makes the values with the key's projection
    You apply `w_key` to `value`, so `w_value` has no effect. Perhaps you copied a line and forgot to change one name.
    The shapes fit if all widths agree.""")


@multi_head_attention.mistake("averages the keys instead of the values")
def keys_handed_over(query, key, value, params, n_heads, mask=None):
    """The weights are right, but each head averages its keys with them. A query finds a word by its key, but the word
    hands over its value."""
    keys_for_values = params | {"w_value": params["w_key"], "b_value": params["b_key"]}
    return reference.multi_head_attention(query, key, key, keys_for_values, n_heads, mask)[0], None


@multi_head_attention.mistake("adds the query to the output")
def residual_inside(query, key, value, params, n_heads, mask=None):
    """You add the layer's input to its output. The model does this *around* the layer, in the code that calls it. This
    function returns only the output, which need not be as wide as the query."""
    return reference.multi_head_attention(query, key, value, params, n_heads, mask)[0] + query, None


wrong("mask_without_heads", naive, expand=lambda mask: mask)("""
    gives the mask no axis for the heads -> The mask and the heads
    NumPy aligns a mask (batch, T_query, T_key) from the right with scores (batch, n_heads, T_query, T_key), so its
    batch meets the heads. That fails. With as many sentences as heads there is no error, but head b of every sentence
    gets the mask of sentence b. Insert an axis of length 1 for the heads.""")


@multi_head_attention.mistake("repeats the mask in the wrong order", reread="The mask and the heads")
def mask_tiled(query, key, value, params, n_heads, mask=None):
    """The repeated masks and the scores have different orders: in one, all heads of a sentence follow each other; in
    the other, all sentences of a head. So most heads get another sentence's mask. (np.tile repeats the whole batch,
    np.repeat each sentence.) An axis of length 1 for the heads needs no repetition at all."""
    if mask is None:
        return naive(query, key, value, params, n_heads)
    allowed = np.broadcast_to(mask, (*query.shape[:-1], key.shape[-2]))
    tiled = np.tile(allowed.reshape(-1, *allowed.shape[-2:]), (n_heads, 1, 1))
    tiled = tiled.reshape(*query.shape[:-2], n_heads, *allowed.shape[-2:])
    return naive(query, key, value, params, n_heads, tiled, expand=lambda mask: mask)


wrong("mask_of_one_axis", naive, expand=lambda mask: np.expand_dims(mask, -3))("""
    needs a mask with an axis for the queries -> The mask and the heads
    You insert an axis in front of the mask's last two, but a mask (T_key,), one row for all queries, has only one. It
    broadcasts to (T_query, T_key) like any other mask. `np.atleast_2d` adds the missing axis first.""")
wrong("mask_indexed_by_axes", naive, expand=lambda mask: mask[..., None, :, :])("""
    indexes a mask as if it had an axis for the queries -> The mask and the heads
    `mask[..., None, :, :]` names the mask's last two axes, but a mask (T_key,), one row for all queries, has only one.
    It broadcasts to (T_query, T_key) like any other mask. `np.atleast_2d` adds the missing axis first.""")
wrong("mask_transposed", naive, expand=lambda mask: np.expand_dims(turned(np.atleast_2d(mask)), -3))("""
    transposes the mask -> The mask and the heads
    You transpose the mask. Its rows are the queries, and its columns are the keys: (T_query, T_key). With as many
    queries as keys the transpose fits, but it hides the wrong keys.""")
wrong("mask_ignored", naive, mask=None)("""
    ignores the mask -> The mask and the heads
    The output does not depend on the mask: every query sees every key. Pass the mask to `masked_attention`, with an
    axis for the heads.""")
wrong("even_average_when_empty", naive, weigh=even_weights_when_empty)("""
    averages everything for a query that sees nothing -> The mask and the heads
    A query that may attend to nothing gets the plain average of all values, in every head, because with a finite 'minus
    infinity' all its scores are equal. Each head must give it zeros: call chapter 3's `masked_attention`.""")
wrong("nan_for_an_empty_row", naive, weigh=nan_when_empty)("""
    gives NaN for a query that sees nothing -> The mask and the heads
    A query that may attend to nothing gets NaN, which spreads through every later layer. Each head must give it zeros:
    call chapter 3's `masked_attention`.""")
wrong("one_wide_head", reference.multi_head_attention, n_heads=1)("""
    uses one wide head -> Why one softmax is not enough
    You never split the projections: there is one softmax over scores made from all features, and so a single pattern of
    attention. Each head needs a softmax of its own.""")


def asked(query, key, value, params, n_heads, mask=None, *, inputs):
    """Run the layer with other inputs, a function of the three."""
    return reference.multi_head_attention(*inputs(query, key, value), params, n_heads, mask)


wrong("values_from_key", asked, inputs=lambda query, key, value: (query, key, key))("""
    makes the values from the keys' input
    You apply w_value to `key`. In the paper's model key and value are the same array, so this works there. But the
    layer has three inputs, and `value` is one of them.""")
wrong("self_attention_only", asked, inputs=lambda query, key, value: (query, query, query))("""
    attends to its own query
    Queries, keys and values are all made from `query`. That is self-attention, only one use of this layer. Between
    encoder and decoder, the keys and values come from another sequence.""")
wrong("queries_compete", naive, weigh=masked_columns)("""
    lets the queries compete -> From the loop to an axis
    The softmax runs down the columns, so in each head the queries compete for each key. Each *row* must add up to one:
    softmax along the last axis.""")
wrong(
    "softmax_over_heads",
    naive,
    weigh=lambda scores, mask: np.where(mask, softmax(scores.swapaxes(-1, -3)).swapaxes(-1, -3), 0),
)("""
    lets the heads compete -> From the loop to an axis
    The softmax runs over the heads, so the heads compete for each pair of words. Each *row* of each head must add up to
    one: softmax along the last axis.""")


@multi_head_attention.mistake("takes one softmax over the keys of all heads", reread="From the loop to an axis")
def one_softmax_for_all_heads(query, key, value, params, n_heads, mask=None):
    """The weights of a query add up to one over all heads together, so the heads compete. Each row of *each* head must
    add up to one: take the softmax along the last axis only."""

    def over_heads_and_keys(scores, mask):
        joined = [array.swapaxes(-3, -2) for array in (scores, np.broadcast_to(mask, scores.shape))]
        weights = lowest_number_then_zero(*(array.reshape(*array.shape[:-2], -1) for array in joined))
        return weights.reshape(joined[0].shape).swapaxes(-3, -2)

    return naive(query, key, value, params, n_heads, mask, weigh=over_heads_and_keys)


wrong("unstable", naive, weigh=no_maximum)("""
    overflows on large scores
    Your output is right for small scores and NaN for large ones, because your softmax does not subtract each row's
    maximum. Chapter 1's `attention` and chapter 3's `masked_attention` subtract it.""")
wrong(
    "promoted", changing(reference.multi_head_attention), change=lambda output, _: (output.astype(np.float64), None)
)("""
    promotes float32 to float64 -> What one head costs, and how it is scaled
    float32 came back as float64: somewhere a float64 NumPy scalar, such as np.sqrt of an integer, has promoted the
    scores. math.sqrt gives a plain number and promotes nothing.""")


@multi_head_attention.mistake("exchanges the projections of keys and values")
def projections_exchanged(query, key, value, params, n_heads, mask=None):
    """You use `w_value` for the keys and `w_key` for the values. Swap them: a query finds a word by its key, and the
    word hands over its value. If both are equally wide, only the numbers are wrong."""
    exchanged = {f"{kind}_key": params[f"{kind}_value"] for kind in "wb"}
    exchanged |= {f"{kind}_value": params[f"{kind}_key"] for kind in "wb"}
    return reference.multi_head_attention(query, key, value, params | exchanged, n_heads, mask)


wrong("inputs_exchanged", asked, inputs=lambda query, key, value: (query, value, key))("""
    exchanges the inputs of keys and values
    You make the keys from `value`, and the values from `key`. In self-attention both are the same array. If they
    differ, your queries find words by what these words should hand over.""")
wrong("weighed_twice", naive, weigh=softmax_of_the_weights)("""
    applies the softmax twice
    The weights of each head go through a softmax once more. They lie between 0 and 1, so they come out nearly even, and
    hidden keys get weight again, because exp(0) = 1. Apply one softmax, to the masked scores.""")
wrong("weighed_before_and_after", naive, weigh=softmax_before_and_after)("""
    masks between two softmaxes -> The mask and the heads
    There are two softmaxes, one before the mask and one after it. The second softmax gets weights between 0 and 1
    instead of scores, so the visible keys get nearly even weights. Mask the scores themselves, then apply one
    softmax.""")
wrong("heads_added", naive, merge=lambda heads: np.concatenate([heads.sum(axis=-3)] * heads.shape[-3], axis=-1))("""
    adds the heads up -> The whole layer
    You add the heads up. Concatenate them instead, so that each head has its own rows of w_output.""")


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
    hidden = False if mask is None else ~np.atleast_2d(mask)[..., np.newaxis, :, :]
    weights = np.where(hidden, 0, softmax(np.where(hidden, scores.dtype.type(-1e30), scores)))
    w_output = params["w_output"].reshape(n_heads, -1, params["w_output"].shape[-1])
    return np.einsum("...hqk,...hkd,hdm->...qm", weights, values, w_output) + params["b_output"], ()
