"""Wrong answers that write out a given function: Add & Norm, the feed-forward, or attention with a mask."""

import math

import numpy as np

from solutions.attention import softmax
from solutions.heads import merge_heads
from solutions.masking import masked_softmax
from solutions.multihead import multi_head_attention, split_heads
from solutions.residual import add_norm, feed_forward, layer_norm
from tests.explanations.registry import wrong

# ------------------------------------------------------------------------------------------- Add & Norm


def dropped(update, rate, rng):
    if rng is None:
        return update
    return np.where(rng.random(update.shape) >= rate, update / (1 - rate), 0).astype(update.dtype)


def encoded(x, params, n_heads, mask, add, feed=feed_forward):
    """An encoder layer; add(x, update, norm) and feed(x, params) are written out."""
    x = add(x, multi_head_attention(x, x, x, params["attention"], n_heads, mask)[0], params["norm_attention"])
    return add(x, feed(x, params["feed_forward"])[0], params["norm_feed_forward"]), None


def decoded(x, memory, params, n_heads, self_mask, memory_mask, add, feed=feed_forward):
    """A decoder layer; add(x, update, norm) and feed(x, params) are written out."""
    x = add(x, multi_head_attention(x, x, x, params["attention"], n_heads, self_mask)[0], params["norm_attention"])
    recalled, _ = multi_head_attention(x, memory, memory, params["cross_attention"], n_heads, memory_mask)
    x = add(x, recalled, params["norm_cross_attention"])
    return add(x, feed(x, params["feed_forward"])[0], params["norm_feed_forward"]), None


@wrong("encoder_layer", "https://github.com/FGiuliari/Trajectory-Transformer/issues/22", names="norm_of_stream")
def x_normalised_alone(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Normalises x and adds the update to it."""

    def add(x, update, norm):
        return layer_norm(x, **norm)[0] + dropped(update, rate, rng)

    return encoded(x, params, n_heads, mask, add)


@wrong("encoder_layer", "https://github.com/keras-team/keras-io/issues/1256", names="norm_of_update")
def norm_before_the_sum(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Normalises the update and then adds x."""

    def add(x, update, norm):
        return x + layer_norm(dropped(update, rate, rng), **norm)[0]

    return encoded(x, params, n_heads, mask, add)


@wrong("encoder_layer", "https://github.com/kaldi-asr/kaldi/issues/2814", says="a term left out")
def divided_by_the_rate(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Divides what is kept by the rate, not by the share that is kept."""

    def add(x, update, norm):
        if rng is not None:
            update = update * (rng.random(update.shape) >= rate).astype(x.dtype) / max(rate, 1e-9)
        return layer_norm(x + update, **norm)[0]

    return encoded(x, params, n_heads, mask, add)


@wrong("encoder_layer", names="layer_norm.gain_for_bias")
def gain_and_bias_in_the_wrong_order(x, params, n_heads, mask=None, rate=0.0, rng=None):
    def add(x, update, norm):
        return layer_norm(x + dropped(update, rate, rng), norm["bias"], norm["gain"])[0]

    return encoded(x, params, n_heads, mask, add)


@wrong("decoder_layer", names="layer_norm.gain_for_bias")
def decoder_gain_and_bias_in_the_wrong_order(
    x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None
):
    def add(x, update, norm):
        return layer_norm(x + dropped(update, rate, rng), norm["bias"], norm["gain"])[0]

    return decoded(x, memory, params, n_heads, self_mask, memory_mask, add)


@wrong("encoder_layer", names="layer_norm.one_plus_gain")
def gain_less_one_in_both_sums(x, params, n_heads, mask=None, rate=0.0, rng=None):
    def add(x, update, norm):
        return layer_norm(x + dropped(update, rate, rng), norm["gain"] + 1, norm["bias"])[0]

    return encoded(x, params, n_heads, mask, add)


@wrong("decoder_layer", names="layer_norm.one_plus_gain")
def decoder_gain_less_one(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    def add(x, update, norm):
        return layer_norm(x + dropped(update, rate, rng), norm["gain"] + 1, norm["bias"])[0]

    return decoded(x, memory, params, n_heads, self_mask, memory_mask, add)


@wrong("encoder_layer")
def stream_normalised_before_it_is_added(x, params, n_heads, mask=None, rate=0.0, rng=None):
    def add(x, update, norm):
        return layer_norm(layer_norm(x, **norm)[0] + dropped(update, rate, rng), **norm)[0]

    return encoded(x, params, n_heads, mask, add)


# ------------------------------------------------------------------------------------------- the feed-forward


def added(rate, rng):
    return lambda x, update, norm: add_norm(x, update, norm, rate, rng)[0]


@wrong("encoder_layer")
def np_max_for_np_maximum(x, params, n_heads, mask=None, rate=0.0, rng=None):
    def feed(x, params):
        return np.max(x @ params["w_in"] + params["b_in"], 0) @ params["w_out"] + params["b_out"], None

    return encoded(x, params, n_heads, mask, added(rate, rng), feed)


# ------------------------------------------------------------------------------------------- attention with a mask


def crossed(x, memory, w_query, w_key, w_value, weigh):
    """Cross-attention; weigh(scores) is written out."""
    queries, keys, values = x @ w_query, memory @ w_key, memory @ w_value
    return weigh(queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1])) @ values, None


@wrong(
    "cross_attention", "https://github.com/lucidrains/halonet-pytorch/pull/6", names="masked_softmax.polarity_inverted"
)
def padding_is_what_it_sees(x, memory, w_query, w_key, w_value, mask):
    """Fills where the mask is True."""
    return crossed(x, memory, w_query, w_key, w_value, lambda scores: masked_softmax(scores, ~np.asarray(mask)))


@wrong("cross_attention", "https://github.com/abisee/pointer-generator/issues/88", names="nan_for_nothing")
def masked_and_renormalised(x, memory, w_query, w_key, w_value, mask):
    """Masks the weights and divides them by their sum again."""

    def weigh(scores):
        weights = softmax(scores) * mask
        return weights / weights.sum(axis=-1, keepdims=True)

    return crossed(x, memory, w_query, w_key, w_value, weigh)


@wrong("cross_attention", "https://github.com/vladfi1/slippi-ai/pull/24", names="masked_softmax.scores_times_mask")
def scores_times_mask(x, memory, w_query, w_key, w_value, mask):
    """Multiplies the scores by the mask."""
    return crossed(x, memory, w_query, w_key, w_value, lambda scores: softmax(scores * mask))


@wrong("cross_attention", "https://github.com/facebookresearch/fairseq2/pull/59", names="mask_left_out")
def mask_forgotten(x, memory, w_query, w_key, w_value, mask):
    """Drops the mask on the way."""
    return crossed(x, memory, w_query, w_key, w_value, softmax)


@wrong("cross_attention")
def weights_over_the_root(x, memory, w_query, w_key, w_value, mask):
    queries, keys, values = x @ w_query, memory @ w_key, memory @ w_value
    weights = masked_softmax(queries @ keys.swapaxes(-1, -2), mask)
    return weights / math.sqrt(queries.shape[-1]) @ values, None


@wrong("cross_attention", names="weights_exchanged")
def unpacked_in_the_wrong_order(x, memory, w_query, w_key, w_value, mask):
    queries, values, keys = x @ w_query, memory @ w_key, memory @ w_value
    return masked_softmax(queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1]), mask) @ values, None


@wrong("cross_attention", says="Axes counted from the end")
def cross_attention_from_the_front(x, memory, w_query, w_key, w_value, mask):
    keys = memory @ w_key
    scores = x @ w_query @ keys.swapaxes(0, 1) / math.sqrt(keys.shape[-1])
    return masked_softmax(scores, mask) @ (memory @ w_value), None


def with_heads(query, key, value, params, n_heads, mask, weigh, scale=None):
    """Multi-head attention; weigh(scores, mask), which gets no mask if there is none, and the scale are written out."""
    inputs = {"query": query, "key": key, "value": value}
    queries, keys, values = (
        split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads) for name, x in inputs.items()
    )
    scores = queries @ keys.swapaxes(-1, -2) * (scale or keys.shape[-1] ** -0.5)
    mask = None if mask is None else np.atleast_2d(mask)[..., None, :, :]
    return merge_heads(weigh(scores, mask) @ values) @ params["w_output"] + params["b_output"], None


def weighed(scores, mask):
    return softmax(scores) if mask is None else masked_softmax(scores, mask)


@wrong("multi_head_attention", "https://github.com/delzac/cntkx/issues/10", names="not_scaled")
def not_scaled(query, key, value, params, n_heads, mask=None):
    """Leaves out the root of d_key."""
    return with_heads(query, key, value, params, n_heads, mask, weighed, scale=1)


@wrong("multi_head_attention", names="divided_by_d_key")
def queries_and_keys_both_scaled(query, key, value, params, n_heads, mask=None):
    d_key = params["w_key"].shape[-1] // n_heads
    return with_heads(query, key, value, params, n_heads, mask, weighed, scale=1 / d_key)


@wrong(
    "multi_head_attention",
    "https://github.com/lucidrains/halonet-pytorch/pull/6",
    names="masked_softmax.polarity_inverted",
)
def hides_what_is_real(query, key, value, params, n_heads, mask=None):
    """Fills where the mask is True."""

    def weigh(scores, mask):
        return softmax(scores) if mask is None else masked_softmax(scores, ~mask)

    return with_heads(query, key, value, params, n_heads, mask, weigh)


@wrong("multi_head_attention", "https://github.com/abisee/pointer-generator/issues/88", names="nan_for_an_empty_row")
def weights_masked_and_renormalised(query, key, value, params, n_heads, mask=None):
    """Masks the weights and divides them by their sum again."""

    def weigh(scores, mask):
        weights = softmax(scores) if mask is None else softmax(scores) * mask
        return weights / weights.sum(axis=-1, keepdims=True)

    return with_heads(query, key, value, params, n_heads, mask, weigh)


@wrong(
    "multi_head_attention",
    "https://github.com/vladfi1/slippi-ai/pull/24",
    names="masked_softmax.scores_times_mask",
)
def scores_times_mask_in_each_head(query, key, value, params, n_heads, mask=None):
    """Multiplies the scores by the mask."""

    def weigh(scores, mask):
        return softmax(scores if mask is None else scores * mask)

    return with_heads(query, key, value, params, n_heads, mask, weigh)


@wrong("multi_head_attention")
def weights_of_each_head_over_the_root(query, key, value, params, n_heads, mask=None):
    root = math.sqrt(params["w_key"].shape[-1] // n_heads)
    return with_heads(
        query, key, value, params, n_heads, mask, lambda scores, mask: weighed(scores, mask) / root, scale=1
    )
