"""multi_head_attention: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.exercises.masking.masked_softmax import (
    after_the_softmax,
    even_weights_when_empty,
    masked_columns,
    nan_when_empty,
    no_maximum,
    scores_times_mask,
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
    uses=("split_heads",),
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
    """The layer, its queries scaled so that its largest score (in size) becomes `height`."""
    params, n_heads = inputs["params"], inputs["n_heads"]
    queries, keys, _ = projected_heads(inputs["query"], inputs["key"], inputs["value"], params, n_heads)
    scores = queries @ turned(keys) / math.sqrt(keys.shape[-1])
    factor = height / scores.flat[np.abs(scores).argmax()]
    return inputs | {"params": params | {name: factor * params[name] for name in ("w_query", "b_query")}}


@multi_head_attention.mistake("splits and merges without moving an axis", reread="Why a reshape alone will not do")
def views_only(query, key, value, params, n_heads, mask=None):
    """Both reshapes give the right shapes, and undo each other, so there is no error. But each "head" is a run of
    positions and not a slice of the features, and attention stays within that run. Swap the axes of positions and
    heads."""
    return naive(query, key, value, params, n_heads, mask, split=view_split, merge=view_merge)


@multi_head_attention.mistake("splits without moving an axis", reread="Why a reshape alone will not do")
def split_is_a_view(query, key, value, params, n_heads, mask=None):
    """Queries, keys and values are reshaped straight to (..., n_heads, T, d_head): the right shape, but with positions
    and features mixed. Split the last axis in two, then swap positions and heads."""
    return naive(query, key, value, params, n_heads, mask, split=view_split)


@multi_head_attention.mistake("merges without moving an axis", reread="Why a reshape alone will not do")
def merge_is_a_view(query, key, value, params, n_heads, mask=None):
    """The heads are reshaped straight to (..., T, n_heads * d_head), so a row contains several positions of one head.
    First move the heads' axis next to the features."""
    return naive(query, key, value, params, n_heads, mask, merge=view_merge)


@multi_head_attention.mistake("merges with batch and heads exchanged", reread="From the loop to an axis")
def merged_across_the_batch(query, key, value, params, n_heads, mask=None):
    """Your merge reads the axes of batch and heads the other way round, so a row contains heads of several sentences.
    The shape is right, and for one sentence the numbers are, too. The heads are axis -3, after the batch."""
    return naive(query, key, value, params, n_heads, mask, merge=misread_merge)


@multi_head_attention.mistake("exchanges the first two axes", reread="From the loop to an axis")
def first_two_axes_exchanged(query, key, value, params, n_heads, mask=None):
    """The first two axes are swapped, as `swapaxes(0, 1)` does. For one sentence they are positions and heads. With a
    batch they are sentences and positions, and the heads of one position attend to each other. Count from the end:
    `swapaxes(-3, -2)`."""

    def split(x, n_heads):
        return x.reshape(*x.shape[:-1], n_heads, -1).swapaxes(0, 1)

    def merge(heads):
        turned_back = heads.swapaxes(0, 1)
        return turned_back.reshape(*turned_back.shape[:-2], -1)

    return naive(query, key, value, params, n_heads, mask, split=split, merge=merge)


@multi_head_attention.mistake("interleaves the heads", reread="From the loop to an axis")
def interleaved(query, key, value, params, n_heads, mask=None):
    """Each head takes every n_heads-th feature where it should take a block of neighbours. Such a layer works, but it
    is another layer: weights copied from elsewhere would belong to other heads."""
    return naive(query, key, value, params, n_heads, mask, split=interleaved_split, merge=interleaved_merge)


@multi_head_attention.mistake("scales by the root of all features", reread="What one head costs, and how it is scaled")
def scaled_by_d_model(query, key, value, params, n_heads, mask=None):
    """The scores are divided by the root of d_model, the width of all heads together. A score is a sum of one head's
    products only: take the root of d_key = d_model / n_heads. Your root flattens every head's attention."""
    return naive(query, key, value, params, n_heads, mask, d_scale=lambda keys, values: keys.shape[-1] * n_heads)


@multi_head_attention.mistake("scales by the number of heads", reread="What one head costs, and how it is scaled")
def scaled_by_n_heads(query, key, value, params, n_heads, mask=None):
    """The scores are divided by the root of n_heads. A score is a sum of one head's d_key products, so the number of
    heads has no part in it."""
    return naive(query, key, value, params, n_heads, mask, d_scale=lambda keys, values: n_heads)


@multi_head_attention.mistake("scales by the number of keys", reread="What one head costs, and how it is scaled")
def scaled_by_T_key(query, key, value, params, n_heads, mask=None):
    """The scores are divided by the root of T_key, the number of keys. A score is a sum of one head's d_key products,
    and d_key is the last axis of the keys, not the one before it."""
    return naive(query, key, value, params, n_heads, mask, d_scale=lambda keys, values: keys.shape[-2])


@multi_head_attention.mistake("scales by the width of the values", reread="What one head costs, and how it is scaled")
def scaled_by_d_value(query, key, value, params, n_heads, mask=None):
    """The scores are divided by the root of d_value, one head's width of the values. A score is a sum of d_key
    products, and the values have no part in it."""
    return naive(query, key, value, params, n_heads, mask, d_scale=lambda keys, values: values.shape[-1])


@multi_head_attention.mistake("divides by d_key, not by its root", reread="What one head costs, and how it is scaled")
def divided_by_d_key(query, key, value, params, n_heads, mask=None):
    """The scores are divided by d_key, or twice by its root, which is the same, so each head's weights are too even.
    Divide once, by the *square root*."""
    return naive(query, key, value, params, n_heads, mask, d_scale=lambda keys, values: keys.shape[-1] ** 2)


@multi_head_attention.mistake(
    "multiplies by the root of d_key instead of dividing", reread="What one head costs, and how it is scaled"
)
def scaled_up(query, key, value, params, n_heads, mask=None):
    """The scores are multiplied by the root of d_key, or divided by d_key ** -0.5, which is the same. Divide by the
    root: call chapter 1's `attention`."""
    return naive(query, key, value, params, n_heads, mask, d_scale=lambda keys, values: 1 / keys.shape[-1])


@multi_head_attention.mistake("does not scale the scores", reread="What one head costs, and how it is scaled")
def not_scaled(query, key, value, params, n_heads, mask=None):
    """The division by the root of d_key, one head's width, is missing, so the weights of a head are sharper the wider
    the head is."""
    return naive(query, key, value, params, n_heads, mask, d_scale=lambda keys, values: 1)


@multi_head_attention.mistake(
    "divides by the root after the last projection", reread="What one head costs, and how it is scaled"
)
def scaled_after_w_output(query, key, value, params, n_heads, mask=None):
    """The root of d_key divides the *output*, where it shrinks everything and leaves the softmax as it is. (The text of
    one lecture notebook says so, but its code is right.) Scale the scores, before the softmax."""
    return naive(query, key, value, params, n_heads, mask, scale_late=True)


@multi_head_attention.mistake("all heads use the first head's keys", reread="Copies of one head see nothing")
def first_keys_for_all(query, key, value, params, n_heads, mask=None):
    """Every head uses the keys of head 0, so the heads can no longer look for different things. Each head has keys of
    its own. (With h copies of one head this would not show.)"""
    return naive(query, key, value, params, n_heads, mask, share_keys=True)


@multi_head_attention.mistake("averages the heads' answers", reread="Why the heads are concatenated")
def averaged_answers(query, key, value, params, n_heads, mask=None):
    """You divide the heads' contributions by their number. Concatenation and last projection *add* the contributions,
    O_1 W_1 + O_2 W_2 + ..., each with rows of W_O of its own."""
    scaled = params | {"w_output": params["w_output"] / n_heads}
    return naive(query, key, value, scaled, n_heads, mask)


@multi_head_attention.mistake("leaves out the last projection", reread="Why the heads are concatenated")
def without_w_output(query, key, value, params, n_heads, mask=None):
    """You return the merged heads as they are. Without w_output each head writes into its own features only, and no
    later layer can weigh one head against another."""
    d = params["w_output"].shape[0]
    as_it_is = params | {"w_output": np.eye(d, dtype=params["w_output"].dtype)}
    return naive(query, key, value, as_it_is, n_heads, mask, output_bias=False)


@multi_head_attention.mistake("leaves out the biases of the projections", reread="Parity with PyTorch")
def without_biases(query, key, value, params, n_heads, mask=None):
    """b_query, b_key and b_value are missing. In a fresh nn.MultiheadAttention they are zero, so a comparison with a
    fresh layer passes; after the first training step it fails."""
    return naive(query, key, value, params, n_heads, mask, biases=())


@multi_head_attention.mistake("leaves out the bias of the queries", reread="Parity with PyTorch")
def without_query_bias(query, key, value, params, n_heads, mask=None):
    """b_query is missing. In a fresh nn.MultiheadAttention it is zero, so a comparison with a fresh layer passes; after
    the first training step it fails."""
    return naive(query, key, value, params, n_heads, mask, biases=("key", "value"))


@multi_head_attention.mistake("leaves out the bias of the values", reread="Parity with PyTorch")
def without_value_bias(query, key, value, params, n_heads, mask=None):
    """b_value is missing. In a fresh nn.MultiheadAttention it is zero, so a comparison with a fresh layer passes; after
    the first training step it fails."""
    return naive(query, key, value, params, n_heads, mask, biases=("query", "key"))


@multi_head_attention.mistake("leaves out the bias of the output")
def without_output_bias(query, key, value, params, n_heads, mask=None):
    """b_output is missing. It is zero in a fresh layer, so a comparison with a fresh layer passes."""
    return naive(query, key, value, params, n_heads, mask, output_bias=False)


@multi_head_attention.mistake("adds the key's bias to the queries", reread="Parity with PyTorch")
def key_bias_for_the_queries(query, key, value, params, n_heads, mask=None):
    """You add `b_key` where `b_query` belongs. A fresh layer has zeros in both, so a comparison with a fresh layer
    passes; after the first training step it fails."""
    biased = params | {"b_query": params["b_key"]}
    return reference.multi_head_attention(query, key, value, biased, n_heads, mask)[0], None


@multi_head_attention.mistake("makes the keys with the query's projection")
def keys_by_w_query(query, key, value, params, n_heads, mask=None):
    """`w_query` is applied to `key`, so `w_key` has no effect. The shapes fit where query and key are equally wide, as
    in self-attention. Queries and keys each have a matrix of their own."""
    shared = params | {"w_key": params["w_query"], "b_key": params["b_query"]}
    return reference.multi_head_attention(query, key, value, shared, n_heads, mask)[0], None


@multi_head_attention.mistake("makes the values with the key's projection")
def values_by_w_key(query, key, value, params, n_heads, mask=None):
    """`w_key` is applied to `value`, so `w_value` has no effect: two of three lines were copied, and one name was not
    changed. The shapes fit where all widths agree."""
    shared = params | {"w_value": params["w_key"], "b_value": params["b_key"]}
    return reference.multi_head_attention(query, key, value, shared, n_heads, mask)[0], None


@multi_head_attention.mistake("averages the keys instead of the values")
def keys_handed_over(query, key, value, params, n_heads, mask=None):
    """The right weights, on the wrong things: each head averages its keys. A query finds an entry by its key, and the
    entry hands over its value."""
    keys_for_values = params | {"w_value": params["w_key"], "b_value": params["b_key"]}
    return reference.multi_head_attention(query, key, key, keys_for_values, n_heads, mask)[0], None


@multi_head_attention.mistake("adds the query to the output")
def residual_inside(query, key, value, params, n_heads, mask=None):
    """The layer's input is added to its output. The model adds such a sum *around* this layer, in the code that calls
    it. This function returns the output alone, which need not be as wide as the query."""
    return reference.multi_head_attention(query, key, value, params, n_heads, mask)[0] + query, None


@multi_head_attention.mistake("gives the mask no axis for the heads", reread="The mask and the heads")
def mask_without_heads(query, key, value, params, n_heads, mask=None):
    """NumPy aligns a mask (batch, T_query, T_key) from the right with scores (batch, n_heads, T_query, T_key), so its
    batch meets the heads. That fails, or, with as many sentences as heads, gives the mask of sentence b to head b of
    every sentence. Insert an axis of length 1 for the heads."""
    return naive(query, key, value, params, n_heads, mask, expand=False)


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
    return naive(query, key, value, params, n_heads, tiled, expand=False)


@multi_head_attention.mistake("needs a mask with an axis for the queries", reread="The mask and the heads")
def mask_of_one_axis(query, key, value, params, n_heads, mask=None):
    """You insert an axis in front of the mask's last two, but a mask (T_key,), one row for all queries, has only one.
    It broadcasts to (T_query, T_key) like any other mask. `np.atleast_2d` adds the missing axis first."""
    with_heads = None if mask is None else np.expand_dims(mask, -3)
    return naive(query, key, value, params, n_heads, with_heads, expand=False)


@multi_head_attention.mistake("indexes a mask as if it had an axis for the queries", reread="The mask and the heads")
def mask_indexed_by_axes(query, key, value, params, n_heads, mask=None):
    """`mask[..., None, :, :]` names the mask's last two axes, but a mask (T_key,), one row for all queries, has only
    one. It broadcasts to (T_query, T_key) like any other mask. `np.atleast_2d` adds the missing axis first."""
    with_heads = None if mask is None else mask[..., None, :, :]
    return naive(query, key, value, params, n_heads, with_heads, expand=False)


@multi_head_attention.mistake("reads the mask the other way round", reread="The mask and the heads")
def inverted_mask(query, key, value, params, n_heads, mask=None):
    """What should be seen is hidden, and what should be hidden is seen. In this book True means *may attend*; only
    nn.MultiheadAttention means the opposite."""
    return reference.multi_head_attention(query, key, value, params, n_heads, None if mask is None else ~mask)


@multi_head_attention.mistake("transposes the mask", reread="The mask and the heads")
def mask_transposed(query, key, value, params, n_heads, mask=None):
    """The mask is transposed. Its rows are the queries, its columns the keys: (T_query, T_key). With as many queries as
    keys the transpose fits, but it hides other keys."""
    return naive(query, key, value, params, n_heads, None if mask is None else turned(np.atleast_2d(mask)))


@multi_head_attention.mistake("ignores the mask", reread="The mask and the heads")
def mask_ignored(query, key, value, params, n_heads, mask=None):
    """The output does not depend on the mask: every query sees every key. Pass the mask to `masked_attention`, with an
    axis for the heads."""
    return naive(query, key, value, params, n_heads)


@multi_head_attention.mistake("masks the weights, after the softmax", reread="The mask and the heads")
def masked_too_late(query, key, value, params, n_heads, mask=None):
    """You multiply by the mask after the softmax: the rows no longer add up to one, and the hidden scores are still in
    every denominator. Mask the scores: call chapter 3's `masked_attention`."""
    return naive(query, key, value, params, n_heads, mask, weigh=after_the_softmax)


@multi_head_attention.mistake("gives what is hidden a score of zero", reread="The mask and the heads")
def hidden_at_zero(query, key, value, params, n_heads, mask=None):
    """A hidden score becomes 0, by a product with the mask, or next to 0, by 1e-9 or -1e-9 where -1e9 was meant. 0 is a
    score like any other, and larger than many allowed scores. Only minus infinity hides."""
    return naive(query, key, value, params, n_heads, mask, weigh=scores_times_mask)


@multi_head_attention.mistake("averages everything for a query that sees nothing", reread="The mask and the heads")
def even_average_when_empty(query, key, value, params, n_heads, mask=None):
    """A query that may attend to nothing gets the plain average of all values, in every head: with a finite 'minus
    infinity' all its scores are equal. Each head must give it zeros: call chapter 3's `masked_attention`."""
    return naive(query, key, value, params, n_heads, mask, weigh=even_weights_when_empty)


@multi_head_attention.mistake("gives NaN for a query that sees nothing", reread="The mask and the heads")
def nan_for_an_empty_row(query, key, value, params, n_heads, mask=None):
    """A query that may attend to nothing gets NaN, which spreads through every later layer. Each head must give it
    zeros: call chapter 3's `masked_attention`."""
    return naive(query, key, value, params, n_heads, mask, weigh=nan_when_empty)


@multi_head_attention.mistake("uses one wide head", reread="Why one softmax is not enough")
def one_wide_head(query, key, value, params, n_heads, mask=None):
    """You never split the projections: there is one softmax, over scores made from all features at once, and a single
    pattern of attention. Each head needs a softmax of its own."""
    return reference.multi_head_attention(query, key, value, params, 1, mask)


@multi_head_attention.mistake("makes the values from the keys' input")
def values_from_key(query, key, value, params, n_heads, mask=None):
    """w_value is applied to `key`. In the paper's model key and value are the same array, so it works there; but the
    layer has three inputs, and `value` is one of them."""
    return reference.multi_head_attention(query, key, key, params, n_heads, mask)


@multi_head_attention.mistake("attends to its own query")
def self_attention_only(query, key, value, params, n_heads, mask=None):
    """Queries, keys and values are all made from `query`: that is self-attention, one use of this layer. Between
    encoder and decoder the keys and values come from elsewhere."""
    return reference.multi_head_attention(query, query, query, params, n_heads, mask)


@multi_head_attention.mistake("lets the queries compete", reread="From the loop to an axis")
def queries_compete(query, key, value, params, n_heads, mask=None):
    """The softmax runs down the columns, so in each head the queries compete for each key. Each *row* must add up to
    one: softmax along the last axis."""
    return naive(query, key, value, params, n_heads, mask, weigh=masked_columns)


@multi_head_attention.mistake("lets the heads compete", reread="From the loop to an axis")
def softmax_over_heads(query, key, value, params, n_heads, mask=None):
    """The softmax runs over the heads, so the heads compete for each pair of words. Each *row* of each head must add up
    to one: softmax along the last axis."""

    def over_heads(scores, mask):
        return np.where(mask, softmax(scores.swapaxes(-1, -3)).swapaxes(-1, -3), 0)

    return naive(query, key, value, params, n_heads, mask, weigh=over_heads)


@multi_head_attention.mistake("overflows on large scores")
def unstable(query, key, value, params, n_heads, mask=None):
    """Right for small scores, NaN for large ones, because your softmax does not subtract each row's maximum. Chapter
    1's `attention` and chapter 3's `masked_attention` do so."""
    return naive(query, key, value, params, n_heads, mask, weigh=no_maximum)


@multi_head_attention.mistake("promotes float32 to float64", reread="What one head costs, and how it is scaled")
def promoted(query, key, value, params, n_heads, mask=None):
    """float32 came back as float64: somewhere a float64 NumPy scalar, such as np.sqrt of an integer, has promoted the
    scores. math.sqrt gives a plain number and promotes nothing."""
    output, _ = reference.multi_head_attention(query, key, value, params, n_heads, mask)
    return output.astype(np.float64), None


@multi_head_attention.mistake("exchanges the projections of keys and values")
def projections_exchanged(query, key, value, params, n_heads, mask=None):
    """`w_value` makes the keys, and `w_key` the values. It is the other way round: a word is found by its key, and
    hands over its value. If both are equally wide, only the numbers are wrong."""
    exchanged = {f"{kind}_key": params[f"{kind}_value"] for kind in "wb"}
    exchanged |= {f"{kind}_value": params[f"{kind}_key"] for kind in "wb"}
    return reference.multi_head_attention(query, key, value, params | exchanged, n_heads, mask)


@multi_head_attention.mistake("exchanges the inputs of keys and values")
def inputs_exchanged(query, key, value, params, n_heads, mask=None):
    """The keys are made from `value`, and the values from `key`. In self-attention both are the same array. Where they
    differ, your queries find words by what these should hand over."""
    return reference.multi_head_attention(query, value, key, params, n_heads, mask)


@multi_head_attention.mistake("applies the softmax twice")
def weighed_twice(query, key, value, params, n_heads, mask=None):
    """The weights of each head go through a softmax once more. They lie between 0 and 1, so they come out nearly even,
    and what is hidden gets weight again, because exp(0) = 1. Apply one softmax, to the masked scores."""
    return naive(query, key, value, params, n_heads, mask, weigh=softmax_of_the_weights)


@multi_head_attention.mistake("masks between two softmaxes", reread="The mask and the heads")
def weighed_before_and_after(query, key, value, params, n_heads, mask=None):
    """There are two softmaxes, one before the mask and one after it. The second one sees weights between 0 and 1 in
    place of scores, so what is allowed comes out nearly even. Mask the scores themselves, then apply one softmax."""
    return naive(query, key, value, params, n_heads, mask, weigh=softmax_before_and_after)


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
