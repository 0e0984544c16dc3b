"""Wrong answers about the parts of a layer: softmaxes, scores, heads, norms, sums over axes, positions."""

import math

import numpy as np

from solutions import backward, multihead, position, residual
from solutions.attention import attention, softmax
from solutions.dropout import dropout
from solutions.heads import merge_heads
from solutions.masked_attention import masked_attention
from solutions.residual import layer_norm
from tests.explanations.registry import wrong

# ------------------------------------------------------------------------------------------- softmaxes


@wrong("softmax", names="zero_or_the_maximum")
def less_the_larger_of_zero_and_the_maximum(scores):
    strengths = np.exp(scores - np.maximum(0, scores.max(-1, keepdims=True)))
    return strengths / strengths.sum(-1, keepdims=True)


@wrong("softmax", names="maximum_outside_exp")
def parenthesis_too_early(scores):
    strengths = np.exp(scores) - scores.max(-1, keepdims=True)
    return strengths / strengths.sum(-1, keepdims=True)


@wrong("softmax", names="division_inside_exp")
def parenthesis_too_late(scores):
    highest = scores.max(-1, keepdims=True)
    return np.exp(scores - highest / np.exp(scores - highest).sum(-1, keepdims=True))


@wrong("softmax", names="difference_divided_inside_exp")
def outer_parenthesis_too_late(scores):
    shifted = scores - scores.max(-1, keepdims=True)
    return np.exp(shifted / np.exp(shifted).sum(-1, keepdims=True))


@wrong("softmax", names="infinity_patched")
def infinities_patched(scores):
    strengths = np.nan_to_num(np.exp(scores))
    return strengths / strengths.sum(-1, keepdims=True)


@wrong("softmax", names="scores_subtracted")
def maximum_less_the_scores(scores):
    strengths = np.exp(np.max(scores, -1, keepdims=True) - scores)
    return np.divide(strengths, np.sum(strengths, -1, keepdims=True))


@wrong("softmax", names="scores_subtracted")
def softmax_of_minus_the_scores(scores):
    return softmax(-scores)


# ------------------------------------------------------------------------------------------- scores


def of_unit_length(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def distances(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return np.sqrt(((queries[..., :, None, :] - keys[..., None, :, :]) ** 2).sum(-1))


@wrong("attention_weights", names="by_cosine")
def cosines(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return softmax(of_unit_length(queries) @ of_unit_length(keys).swapaxes(-1, -2))


@wrong("attention_weights", names="by_distance")
def nearness(queries, keys):
    return softmax(-distances(queries, keys))


@wrong("attention", names="attention_weights.by_scaled_squared_distance")
def scaled_squared_nearness(queries, keys, values):
    return softmax(-(distances(queries, keys) ** 2) / math.sqrt(keys.shape[-1])) @ values, None


# ------------------------------------------------------------------------------------------- heads


def heads_with(query, key, value, params, n_heads, mask, merge=merge_heads, biases=("query", "key", "value")):
    inputs = zip(("query", "key", "value"), (query, key, value), strict=True)
    projected = (x @ params[f"w_{name}"] + (params[f"b_{name}"] if name in biases else 0) for name, x in inputs)
    heads = [multihead.split_heads(x, n_heads) for x in projected]
    if mask is None:
        attended, _ = attention(*heads)
    else:
        attended, _ = masked_attention(*heads, np.expand_dims(np.atleast_2d(mask), -3))
    return merge(attended) @ params["w_output"] + params["b_output"], None


@wrong("masked_softmax", names="a_little_more_1e-8")
def small_number_beside_the_sum(scores, mask):
    allowed = np.where(mask, scores, np.asarray(-np.inf, scores.dtype))
    highest = np.nan_to_num(allowed.max(-1, keepdims=True), neginf=0)
    strengths = np.exp(allowed - highest)
    return strengths / (strengths.sum(-1, keepdims=True) + scores.dtype.type(1e-8))


@wrong("layer_norm", names="variance_by_difference")
def mean_of_squares_less_squared_mean(x, gain, bias, eps=1e-5):
    mean, of_squares = np.mean(x, -1, keepdims=True), np.mean(np.square(x), -1, keepdims=True)
    return gain * (x - mean) / (of_squares - np.square(mean) + eps) ** 0.5 + bias, None


@wrong("layer_norm", names="eps_squared")
def root_of_two_squares(x, gain, bias, eps=1e-5):
    return gain * (x - x.mean(-1, keepdims=True)) / np.hypot(x.std(-1, keepdims=True), eps) + bias, None


@wrong("attention", names="attention_weights.by_d_key")
def queries_and_keys_both_scaled(queries, keys, values):
    root = math.sqrt(keys.shape[-1])
    return softmax(queries / root @ (keys / root).swapaxes(-1, -2)) @ values, None


@wrong("encoder_layer", names="stream_twice_in_front")
def twice_the_stream(x, params, n_heads, mask=None, rate=0.0, rng=None):
    attended = multihead.multi_head_attention(x, x, x, params["attention"], n_heads, mask)[0]
    x = layer_norm(2 * x + dropout(attended, rate, rng)[0], **params["norm_attention"])[0]
    return residual.add_norm(
        x, residual.feed_forward(x, params["feed_forward"])[0], params["norm_feed_forward"], rate, rng
    )


@wrong("multi_head_attention", names="mask_transposed")
def keys_before_queries(query, key, value, params, n_heads, mask=None):
    return heads_with(
        query, key, value, params, n_heads, None if mask is None else np.atleast_2d(mask).swapaxes(-1, -2)
    )


@wrong("multi_head_attention", names="merged_across_the_batch")
def batch_and_heads_swapped(query, key, value, params, n_heads, mask=None):
    def merge(heads):
        *batch, n_heads, length, d_head = heads.shape
        n = math.prod(batch)
        beside = heads.reshape(n_heads, n, length, d_head).transpose(1, 2, 0, 3)
        return beside.reshape(*batch, length, n_heads * d_head)

    return heads_with(query, key, value, params, n_heads, mask, merge)


@wrong("multi_head_attention", names="without_query_bias")
def queries_have_no_bias(query, key, value, params, n_heads, mask=None):
    return heads_with(query, key, value, params, n_heads, mask, biases=("key", "value"))


@wrong("multi_head_attention", names="without_value_bias")
def values_have_no_bias(query, key, value, params, n_heads, mask=None):
    return heads_with(query, key, value, params, n_heads, mask, biases=("query", "key"))


@wrong("multi_head_attention_backward", names="query_and_key_exchanged")
def first_two_exchanged(grad_output, cache):
    grad_query, grad_key, *others = multihead.multi_head_attention_backward(grad_output, cache)
    return grad_key, grad_query, *others


# ------------------------------------------------------------------------------------------- backwards


def attention_back(grad_output, cache, softmax_back, scaled=True):
    queries, keys, values, weights = cache
    scale = 1 / math.sqrt(keys.shape[-1]) if scaled else 1
    grad_scores = scale * softmax_back(grad_output @ values.swapaxes(-1, -2), weights)
    grad_keys = grad_scores.swapaxes(-1, -2) @ queries
    return grad_scores @ keys, grad_keys, weights.swapaxes(-1, -2) @ grad_output


@wrong("attention_backward", names="diagonal_without_scale")
def diagonal_and_no_scale(grad_output, cache):
    return attention_back(grad_output, cache, lambda grad, weights: grad * weights * (1 - weights), scaled=False)


@wrong("attention_backward", names="queries_and_keys_exchanged")
def queries_and_keys_swapped(grad_output, cache):
    grad_queries, grad_keys, grad_values = attention_back(grad_output, cache, backward.softmax_backward)
    return grad_keys, grad_queries, grad_values


@wrong("layer_norm_backward", names="gain_and_bias_exchanged")
def gain_and_bias_swapped(grad_output, cache):
    grad_x, grad_gain, grad_bias = residual.layer_norm_backward(grad_output, cache)
    return grad_x, grad_bias, grad_gain


@wrong("layer_norm_backward", names="summed_over_one_axis")
def sums_over_the_first_axis(grad_output, cache):
    grad_x, *_ = residual.layer_norm_backward(grad_output, cache)
    return grad_x, (grad_output * cache[0]).sum(0), grad_output.sum(0)


@wrong("linear_backward", names="bias_over_one_axis")
def bias_over_the_first_axis(grad_output, cache):
    grad_x, grad_weight, _ = backward.linear_backward(grad_output, cache)
    return grad_x, grad_weight, grad_output.sum(axis=0)


# ------------------------------------------------------------------------------------------- norms and streams


@wrong("layer_norm", names="batch_norm")
def over_all_leading_axes(x, gain, bias, eps=1e-5):
    axes = tuple(range(x.ndim - 1))
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps) * gain + bias, None


@wrong("layer_norm", names="gain_for_bias")
def bias_handed_over_as_the_gain(x, gain, bias, eps=1e-5):
    return layer_norm(x, bias, gain, eps)


@wrong("encoder_layer", names="stream_added_twice")
def stream_in_the_update(x, params, n_heads, mask=None, rate=0.0, rng=None):
    attended, _ = multihead.multi_head_attention(x, x, x, params["attention"], n_heads, mask)
    x, _ = residual.add_norm(x, x + attended, params["norm_attention"], rate, rng)
    update, _ = residual.feed_forward(x, params["feed_forward"])
    return residual.add_norm(x, x + update, params["norm_feed_forward"], rate, rng)


@wrong("decoder_layer", names="stream_added_twice")
def stream_in_the_update_of_the_decoder(
    x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None
):
    for name, others, mask in (("attention", None, self_mask), ("cross_attention", memory, memory_mask)):
        read = x if others is None else others
        update, _ = multihead.multi_head_attention(x, read, read, params[name], n_heads, mask)
        x, _ = residual.add_norm(x, x + update, params[f"norm_{name}"], rate, rng)
    update, _ = residual.feed_forward(x, params["feed_forward"])
    return residual.add_norm(x, x + update, params["norm_feed_forward"], rate, rng)


# ------------------------------------------------------------------------------------------- positions


def encoding(length, d_model, exponent):
    columns = np.arange(d_model)
    angles = np.arange(length)[:, None] * 10000.0 ** -exponent(columns)
    return np.where(columns % 2 == 0, np.sin(angles), np.cos(angles))


@wrong("positional_embedding", names="scaled_twice")
def root_of_the_width_once_more(tokens, table, start=0):
    rows = (
        table[tokens] * table.shape[1] + position.sinusoidal_encoding(start + tokens.shape[-1], table.shape[1])[start:]
    )
    if tokens.min() < 0:
        raise IndexError("a negative token")
    return rows.astype(table.dtype), None


@wrong("sinusoidal_encoding", names="one_speed")
def column_of_the_sine_divided_by_floor(length, d_model):
    return encoding(length, d_model, lambda columns: (2 * (columns // 2)) // d_model)


@wrong("sinusoidal_encoding", names="doubled_floor")
def doubled_column_divided_by_floor(length, d_model):
    return encoding(length, d_model, lambda columns: 2 * columns // d_model)


@wrong("sinusoidal_encoding", names="negative_floor")
def negative_exponent_divided_by_floor(length, d_model):
    return encoding(length, d_model, lambda columns: -(-(2 * (columns // 2)) // d_model))


# ------------------------------------------------------------------------------------------- of chapters 4 and 5


@wrong("grouped_query_attention", names="one_softmax_for_all_heads")
def exponentials_divided_by_the_sum_over_heads(queries, keys, values):
    times = queries.shape[-3] // keys.shape[-3]
    scores = queries @ np.repeat(keys, times, axis=-3).swapaxes(-1, -2) / math.sqrt(queries.shape[-1])
    strengths = np.exp(scores)
    return strengths / strengths.sum(axis=(-3, -1), keepdims=True) @ np.repeat(values, times, axis=-3), None


def rms_gradients(grad_output, cache, power=1, n_means=1):
    normalised, inverse_rms, gain = cache
    g = grad_output * gain**power
    mean = np.sum(g * normalised, axis=-1, keepdims=True) / gain.size**n_means
    return inverse_rms * (g - normalised * mean), grad_output * normalised


@wrong("rms_norm_backward", names="gain_twice")
def gain_of_the_forward_and_of_the_backward_pass(grad_output, cache):
    grad_x, each = rms_gradients(grad_output, cache, power=2)
    return grad_x, each.reshape(-1, each.shape[-1]).sum(axis=0)


@wrong("rms_norm_backward", names="mean_divided_again")
def mean_over_the_width(grad_output, cache):
    grad_x, each = rms_gradients(grad_output, cache, n_means=2)
    return grad_x, each.reshape(-1, each.shape[-1]).sum(axis=0)


@wrong("rms_norm_backward", names="one_sum_in_every_entry")
def zeros_plus_one_sum(grad_output, cache):
    grad_x, each = rms_gradients(grad_output, cache)
    return grad_x, np.zeros_like(cache[2]) + each.sum()


@wrong("layer_norm_backward", names="one_sum_in_every_entry")
def ones_times_one_sum(grad_output, cache):
    grad_x, *_ = residual.layer_norm_backward(grad_output, cache)
    ones = np.ones_like(cache[2])
    return grad_x, ones * (grad_output * cache[0]).sum(), ones * grad_output.sum()
