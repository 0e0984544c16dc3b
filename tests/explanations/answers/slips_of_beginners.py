"""Wrong answers that beginners write: exchanged roles, a second softmax, axes from the front, numbers against zero."""

import math

import numpy as np

from solutions import decoding, multihead, residual
from solutions.attention import attention, attention_weights, softmax
from solutions.masked_attention import masked_attention
from solutions.masking import masked_softmax
from tests.explanations.registry import wrong

# ------------------------------------------------------------------------------------------- masks


def finite(name, hide, rule, number):
    @wrong("masked_softmax", names=name, name=f"{rule}{number:g}")
    def answer(scores, mask):
        weights = softmax(hide(scores, mask, scores.dtype.type(number)))
        weights[~np.broadcast_to(mask, scores.shape).any(axis=-1)] = 0
        return weights


for _number, _slug in ((-1e3, "_-1000"), (-1e4, "_-10000"), (-1e5, ""), (-1e9, "")):
    finite(f"filled_then_empty_rows{_slug}", lambda s, m, n: np.where(m, s, n), "filled", _number)
for _number, _slug in ((-1e4, "_-10000"), (-1e5, "_-100000"), (-1e9, "")):
    finite(f"added_then_empty_rows{_slug}", lambda s, m, n: s + np.where(m, 0, n).astype(s.dtype), "added", _number)


@wrong("padding_mask", names="positive_tokens")
def above_zero(tokens, pad):
    return np.greater(tokens, 0)[..., np.newaxis, :]


@wrong("padding_mask", names="from_pad_on")
def not_below_padding(tokens, pad):
    return ~np.less(tokens, pad)[..., np.newaxis, :]


@wrong("target_mask", names="padding_mask.positive_tokens")
def above_zero_and_past(tokens, pad):
    return np.tril(np.repeat(tokens[..., np.newaxis, :] > 0, tokens.shape[-1], axis=-2))


@wrong("target_mask", names="padding_mask.pad_is_smallest")
def above_padding_and_past(tokens, pad):
    return np.tril(np.repeat(tokens[..., np.newaxis, :] > pad, tokens.shape[-1], axis=-2))


# ------------------------------------------------------------------------------------------- axes of the heads


@wrong("multi_head_attention", names="first_two_axes_exchanged")
def heads_by_the_first_two_axes(query, key, value, params, n_heads, mask=None):
    def heads_of(x, name):
        rows = x @ params[f"w_{name}"] + params[f"b_{name}"]
        return rows.reshape(*rows.shape[:-1], n_heads, rows.shape[-1] // n_heads).swapaxes(0, 1)

    heads = heads_of(query, "query"), heads_of(key, "key"), heads_of(value, "value")
    answers, _ = attention(*heads) if mask is None else masked_attention(*heads, mask[..., np.newaxis, :, :])
    rows = answers.swapaxes(0, 1)
    return rows.reshape(*rows.shape[:-2], -1) @ params["w_output"] + params["b_output"], None


# ------------------------------------------------------------------------------------------- a second softmax


@wrong("softmax", names="applied_twice")
def softmax_of_softmax(scores):
    return softmax(softmax(scores))


@wrong("masked_softmax", names="softmax_of_the_weights")
def softmax_after_the_masked_one(scores, mask):
    return softmax(masked_softmax(scores, mask))


@wrong("masked_softmax", names="softmax_twice")
def masked_softmax_twice(scores, mask):
    return masked_softmax(masked_softmax(scores, mask), mask)


@wrong("masked_softmax", names="softmax_before_and_after")
def softmax_before_the_masked_one(scores, mask):
    return masked_softmax(softmax(scores), mask)


@wrong("attention", names="softmax.applied_twice")
def attention_weighed_twice(queries, keys, values):
    return softmax(attention_weights(queries, keys)) @ values, None


@wrong("cross_attention", names="masked_softmax.softmax_before_and_after")
def cross_masked_between(x, memory, w_query, w_key, w_value, mask):
    return masked_softmax(attention_weights(x @ w_query, memory @ w_key), mask) @ (memory @ w_value), None


@wrong("cross_attention", names="masked_softmax.softmax_of_the_weights")
def cross_weighed_twice(x, memory, w_query, w_key, w_value, mask):
    return softmax(masked_softmax(scores_of(x @ w_query, memory @ w_key), mask)) @ (memory @ w_value), None


def of_heads(weigh):
    """Return multi-head attention with other weights."""

    def layer(query, key, value, params, n_heads, mask=None):
        inputs = {"query": query, "key": key, "value": value}
        queries, keys, values = (
            multihead.split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads) for name, x in inputs.items()
        )
        mask = np.ones((1, 1), bool) if mask is None else np.atleast_2d(mask)
        heads = weigh(scores_of(queries, keys), mask[..., None, :, :]) @ values
        return multihead.merge_heads(heads) @ params["w_output"] + params["b_output"], None

    return layer


wrong("multi_head_attention", names="weighed_twice", name="softmax_of_the_weights")(
    of_heads(lambda scores, mask: softmax(masked_softmax(scores, mask)))
)
wrong("multi_head_attention", names="weighed_before_and_after", name="masked_between")(
    of_heads(lambda scores, mask: masked_softmax(softmax(scores), mask))
)

# ------------------------------------------------------------------------------------------- exchanged roles


def scores_of(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return np.einsum("...qd,...kd->...qk", queries, keys) / math.sqrt(keys.shape[-1])


@wrong("attention", names="keys_for_values")
def values_are_searched(queries, keys, values):
    return softmax(scores_of(queries, values)) @ keys, None


@wrong("multi_head_attention", names="projections_exchanged")
def matrices_exchanged(query, key, value, params, n_heads, mask=None):
    names = {"w_key": "w_value", "w_value": "w_key", "b_key": "b_value", "b_value": "b_key"}
    exchanged = {name: params[names.get(name, name)] for name in params}
    return multihead.multi_head_attention(query, key, value, exchanged, n_heads, mask)


@wrong("multi_head_attention", names="inputs_exchanged")
def arguments_exchanged(query, key, value, params, n_heads, mask=None):
    return multihead.multi_head_attention(query, value, key, params, n_heads, mask)


def decoder_layer_of(asks, thinks):
    """Return a decoder layer whose last two sub-layers read x, the stream after one sub-layer, or that after two."""

    def layer(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
        def added(stream, update, name):
            return residual.add_norm(stream, update, params[f"norm_{name}"], rate, rng)[0]

        update, _ = multihead.multi_head_attention(x, x, x, params["attention"], n_heads, self_mask)
        first = added(x, update, "attention")
        asking = (x, first)[asks]
        cross = params["cross_attention"]
        update, _ = multihead.multi_head_attention(asking, memory, memory, cross, n_heads, memory_mask)
        second = added(first, update, "cross_attention")
        update, _ = residual.feed_forward((x, first, second)[thinks], params["feed_forward"])
        return added(second, update, "feed_forward"), None

    return layer


wrong("decoder_layer", names="asks_with_x", name="asks_with_x")(decoder_layer_of(0, 2))
wrong("decoder_layer", names="fed_before_the_memory", name="fed_before_the_memory")(decoder_layer_of(1, 1))
wrong("decoder_layer", names="fed_with_x", name="fed_with_x")(decoder_layer_of(1, 0))

# ------------------------------------------------------------------------------------------- axes from the front


def front_scores(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return queries @ keys.swapaxes(0, 1) / math.sqrt(keys.shape[-1])


@wrong("attention_weights", names="first_two_axes_exchanged")
def weights_from_the_front(queries, keys):
    return softmax(front_scores(queries, keys))


@wrong("attention", names="front_axes_exchanged")
def attention_from_the_front(queries, keys, values):
    return softmax(front_scores(queries, keys)) @ values, None


# ------------------------------------------------------------------------------------------- gains and lengths


@wrong("layer_norm", names="one_plus_gain")
def gain_less_one(x, gain, bias, eps=1e-5):
    output, cache = residual.layer_norm(x, np.ones_like(gain), np.zeros_like(bias), eps)
    return output + output * gain + bias, cache


# ------------------------------------------------------------------------------------------- marks


def with_marks(change):
    """Name each decoder that calls the right one with marks that `change` makes of (bos, eos)."""

    def greedy(params, src, n_heads, max_length=50, bos=1, eos=2, pad=0):
        return decoding.greedy_decode(params, src, n_heads, max_length, *change(bos, eos), pad)

    def beam(params, src, n_heads, beam_width=4, length_penalty=0.6, max_length=50, bos=1, eos=2, pad=0):
        marks = change(bos, eos)
        return decoding.beam_search(params, src, n_heads, beam_width, length_penalty, max_length, *marks, pad)

    return {"greedy_decode": greedy, "beam_search": beam}


for _exercise, _wrong in with_marks(lambda bos, eos: (eos, eos)).items():
    wrong(_exercise, names="finished_at_once", name="only_end_marks")(_wrong)
for _exercise, _wrong in with_marks(lambda bos, eos: (bos, bos)).items():
    wrong(_exercise, names="finished_at_once", name="only_begin_marks")(_wrong)
for _exercise, _wrong in with_marks(lambda bos, eos: (eos, bos)).items():
    wrong(_exercise, names="marks_exchanged", name="marks_exchanged")(_wrong)
