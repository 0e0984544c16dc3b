"""Wrong answers that beginners write: exchanged roles, a second softmax, axes from the front, numbers against zero."""

import math

import numpy as np

from solutions import decoding, masking, multihead, residual
from solutions.attention import attention, attention_weights, softmax
from solutions.masking import masked_softmax
from solutions.parameters import flatten, map_tree
from tests.autograder.exercises.named.register import named

# ------------------------------------------------------------------------------------------- masks


def finite(name, hide, rule, number):
    @named("masked_softmax", name, f"{rule}{number:g}")
    def wrong(scores, mask):
        weights = softmax(hide(scores, mask, scores.dtype.type(number)))
        weights[~np.broadcast_to(mask, scores.shape).any(axis=-1)] = 0
        return weights


for _number, _slug in ((-1e3, "_-1000"), (-1e4, "_-10000"), (-1e5, ""), (-1e9, "")):
    finite(f"filled_then_empty_rows{_slug}", lambda s, m, n: np.where(m, s, n), "filled", _number)
for _number, _slug in ((-1e4, "_-10000"), (-1e5, "_-100000"), (-1e9, "")):
    finite(f"added_then_empty_rows{_slug}", lambda s, m, n: s + np.where(m, 0, n).astype(s.dtype), "added", _number)


@named("padding_mask", "positive_tokens")
def above_zero(tokens, pad):
    return np.greater(tokens, 0)[..., np.newaxis, :]


@named("padding_mask", "from_pad_on")
def not_below_padding(tokens, pad):
    return ~np.less(tokens, pad)[..., np.newaxis, :]


@named("target_mask", "target_positive_tokens")
def above_zero_and_past(tokens, pad):
    return np.tril(np.repeat(tokens[..., np.newaxis, :] > 0, tokens.shape[-1], axis=-2))


@named("target_mask", "target_pad_is_smallest")
def above_padding_and_past(tokens, pad):
    return np.tril(np.repeat(tokens[..., np.newaxis, :] > pad, tokens.shape[-1], axis=-2))


# ------------------------------------------------------------------------------------------- axes of the heads


@named("multi_head_attention", "first_two_axes_exchanged")
def heads_by_the_first_two_axes(query, key, value, params, n_heads, mask=None):
    def heads_of(x, name):
        rows = x @ params[f"w_{name}"] + params[f"b_{name}"]
        return rows.reshape(*rows.shape[:-1], n_heads, rows.shape[-1] // n_heads).swapaxes(0, 1)

    heads = heads_of(query, "query"), heads_of(key, "key"), heads_of(value, "value")
    answers, _ = attention(*heads) if mask is None else masking.masked_attention(*heads, mask[..., np.newaxis, :, :])
    rows = answers.swapaxes(0, 1)
    return rows.reshape(*rows.shape[:-2], -1) @ params["w_output"] + params["b_output"], None


# ------------------------------------------------------------------------------------------- a second softmax


@named("softmax", "applied_twice")
def softmax_of_softmax(scores):
    return softmax(softmax(scores))


@named("masked_softmax", "softmax_of_the_weights")
def softmax_after_the_masked_one(scores, mask):
    return softmax(masked_softmax(scores, mask))


@named("masked_softmax", "softmax_twice")
def masked_softmax_twice(scores, mask):
    return masked_softmax(masked_softmax(scores, mask), mask)


@named("masked_softmax", "softmax_before_and_after")
def softmax_before_the_masked_one(scores, mask):
    return masked_softmax(softmax(scores), mask)


@named("attention", "weighed_twice")
def attention_weighed_twice(queries, keys, values):
    return softmax(attention_weights(queries, keys)) @ values, None


@named("self_attention", "projected_weighed_twice")
def self_attention_weighed_twice(x, w_query, w_key, w_value):
    return softmax(attention_weights(x @ w_query, x @ w_key)) @ x @ w_value, None


@named("masked_attention", "weighed_twice")
def masked_attention_weighed_twice(queries, keys, values, mask):
    return softmax(masked_softmax(scores_of(queries, keys), mask)) @ values, None


@named("masked_attention", "weighed_before_and_after")
def masked_between(queries, keys, values, mask):
    return masked_softmax(attention_weights(queries, keys), mask) @ values, None


@named("cross_attention", "weighed_before_and_after")
def cross_masked_between(x, memory, w_query, w_key, w_value, mask):
    return masked_softmax(attention_weights(x @ w_query, memory @ w_key), mask) @ (memory @ w_value), None


@named("cross_attention", "weighed_twice")
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


named("multi_head_attention", "weighed_twice", "softmax_of_the_weights")(
    of_heads(lambda scores, mask: softmax(masked_softmax(scores, mask)))
)
named("multi_head_attention", "weighed_before_and_after", "masked_between")(
    of_heads(lambda scores, mask: masked_softmax(softmax(scores), mask))
)

# ------------------------------------------------------------------------------------------- exchanged roles


def scores_of(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return np.einsum("...qd,...kd->...qk", queries, keys) / math.sqrt(keys.shape[-1])


@named("attention", "keys_for_values")
def values_are_searched(queries, keys, values):
    return softmax(scores_of(queries, values)) @ keys, None


@named("masked_attention", "keys_for_values")
def values_are_searched_behind_a_mask(queries, keys, values, mask):
    return masking.masked_attention(queries, values, keys, mask)


@named("self_attention", "keys_and_values_exchanged")
def unpacked_in_the_wrong_order(x, w_query, w_key, w_value):
    queries, values, keys = x @ w_query, x @ w_key, x @ w_value
    return attention(queries, keys, values)


@named("self_attention", "keys_and_values_exchanged")
def unpacked_in_the_wrong_order_with_another_exception(x, w_query, w_key, w_value):
    queries, values, keys = x @ w_query, x @ w_key, x @ w_value
    return softmax(queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1])) @ values, None


@named("multi_head_attention", "projections_exchanged")
def matrices_exchanged(query, key, value, params, n_heads, mask=None):
    names = {"w_key": "w_value", "w_value": "w_key", "b_key": "b_value", "b_value": "b_key"}
    exchanged = {name: params[names.get(name, name)] for name in params}
    return multihead.multi_head_attention(query, key, value, exchanged, n_heads, mask)


@named("multi_head_attention", "inputs_exchanged")
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


named("decoder_layer", "asks_with_x", "asks_with_x")(decoder_layer_of(0, 2))
named("decoder_layer", "fed_before_the_memory", "fed_before_the_memory")(decoder_layer_of(1, 1))
named("decoder_layer", "fed_with_x", "fed_with_x")(decoder_layer_of(1, 0))

# ------------------------------------------------------------------------------------------- axes from the front


def front_scores(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return queries @ keys.swapaxes(0, 1) / math.sqrt(keys.shape[-1])


@named("attention_weights", "first_two_axes_exchanged")
def weights_from_the_front(queries, keys):
    return softmax(front_scores(queries, keys))


@named("attention", "front_axes_exchanged")
def attention_from_the_front(queries, keys, values):
    return softmax(front_scores(queries, keys)) @ values, None


@named("self_attention", "projected_front_axes_exchanged")
def self_attention_from_the_front(x, w_query, w_key, w_value):
    return softmax(front_scores(x @ w_query, x @ w_key)) @ (x @ w_value), None


@named("masked_attention", "front_axes_exchanged")
def masked_attention_from_the_front(queries, keys, values, mask):
    return masked_softmax(front_scores(queries, keys), mask) @ values, None


# ------------------------------------------------------------------------------------------- gains and lengths


@named("layer_norm", "one_plus_gain")
def gain_less_one(x, gain, bias, eps=1e-5):
    output, cache = residual.layer_norm(x, np.ones_like(gain), np.zeros_like(bias), eps)
    return output + output * gain + bias, cache


@named("add_norm", "one_plus_gain")
def gain_less_one_behind_the_sum(x, update, params, rate=0.0, rng=None):
    return residual.add_norm(x, update, {"gain": params["gain"] + 1, "bias": params["bias"]}, rate, rng)


@named("clip_gradients", "a_little_longer")
def as_in_pytorch(gradients, longest):
    length = float(np.linalg.norm(flatten(gradients)))
    factor = min(1.0, longest / (length + 1e-6))
    return map_tree(lambda gradient: factor * gradient, gradients), length


@named("clip_gradients", "length_enlarged_1e-8")
def enlarged_length(gradients, longest):
    length = 1e-8 + float(np.linalg.norm(flatten(gradients)))
    return map_tree(lambda gradient: min(1.0, longest / length) * gradient, gradients), length


@named("clip_gradients", "enlarged_under_the_root")
def number_under_the_root(gradients, longest):
    length = math.sqrt(1e-6 + float(np.square(flatten(gradients)).sum()))
    return map_tree(lambda gradient: min(1.0, longest / length) * gradient, gradients), length


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
    named(_exercise, "finished_at_once", "only_end_marks")(_wrong)
for _exercise, _wrong in with_marks(lambda bos, eos: (bos, bos)).items():
    named(_exercise, "finished_at_once", "only_begin_marks")(_wrong)
for _exercise, _wrong in with_marks(lambda bos, eos: (eos, bos)).items():
    named(_exercise, "marks_exchanged", "marks_exchanged")(_wrong)
