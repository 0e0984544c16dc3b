"""More wrong answers to chapter 4, multi-head attention."""

import numpy as np

from solutions.attention import attention
from solutions.backward import attention_backward, linear
from solutions.heads import merge_heads
from solutions.masked_attention import masked_attention
from solutions.multihead import split_heads
from tests.explanations.registry import wrong


def attend(queries, keys, values, mask):
    if mask is None:
        return attention(queries, keys, values)
    return masked_attention(queries, keys, values, np.expand_dims(np.atleast_2d(mask), -3))


def projected(query, key, value, params):
    inputs = {"query": query, "key": key, "value": value}
    return [linear(x, params[f"w_{role}"], params[f"b_{role}"]) for role, x in inputs.items()]


@wrong("multi_head_attention", "https://github.com/awf/functional-transformer/issues/8", names="heads_added")
def heads_added(query, key, value, params, n_heads, mask=None):
    """Adds up heads that belong side by side."""
    (queries, q), (keys, k), (values, v) = projected(query, key, value, params)
    heads, cache = attend(*(split_heads(x, n_heads) for x in (queries, keys, values)), mask)
    summed = np.concatenate([heads.sum(axis=-3)] * n_heads, axis=-1)
    output, out = linear(summed, params["w_output"], params["b_output"])
    return output, (q, k, v, cache, out)


@wrong(
    "multi_head_attention",
    "https://github.com/gazelle93/Transformer-Various-Positional-Encoding/issues/1",
    names="merged_across_the_batch",
)
def heads_before_the_batch(query, key, value, params, n_heads, mask=None):
    """Swaps heads and batch before it merges them."""
    (queries, q), (keys, k), (values, v) = projected(query, key, value, params)
    heads, cache = attend(*(split_heads(x, n_heads) for x in (queries, keys, values)), mask)
    *batch, _, length, d_head = heads.shape
    exchanged = heads.reshape(n_heads, *batch, length, d_head)
    merged = np.moveaxis(exchanged, 0, -2).reshape(*batch, length, n_heads * d_head)
    output, out = linear(merged, params["w_output"], params["b_output"])
    return output, (q, k, v, cache, out)


@wrong("multi_head_attention", "https://github.com/pytorch/pytorch/issues/52257", names="without_output_bias")
def no_output_bias(query, key, value, params, n_heads, mask=None):
    """Leaves out the bias of the last projection."""
    (queries, q), (keys, k), (values, v) = projected(query, key, value, params)
    heads, cache = attend(*(split_heads(x, n_heads) for x in (queries, keys, values)), mask)
    output, out = linear(merge_heads(heads), params["w_output"], np.zeros_like(params["b_output"]))
    return output, (q, k, v, cache, out)


@wrong("grouped_query_attention", "https://github.com/onnx/onnx/pull/7274", names="dealt_in_turn")
def groups_tiled(queries, keys, values):
    """Repeats the heads of keys and values in turn: 0, 1, 0, 1."""
    sharing = queries.shape[-3] // keys.shape[-3]
    tiled = [np.concatenate([x] * sharing, axis=-3) for x in (keys, values)]
    output, (*_, weights) = attention(queries, *tiled)
    return output, (queries, keys, values, weights)


@wrong("grouped_query_attention", "https://github.com/PrimeIntellect-ai/prime-rl/pull/2681")
def sequence_repeated(queries, keys, values):
    """Repeats positions where it should repeat heads."""
    sharing = queries.shape[-3] // keys.shape[-3]
    repeated = [np.repeat(x, sharing, axis=-2) for x in (keys, values)]
    output, (*_, weights) = attention(queries, *repeated)
    return output, (queries, keys, values, weights)


@wrong("grouped_query_attention", "https://github.com/EricLBuehler/candle-vllm/pull/52", names="first_group_for_all")
def keys_repeated_by_reshape(queries, keys, values):
    """All heads use the first group."""
    output, (*_, weights) = attention(queries, keys[..., :1, :, :], values[..., :1, :, :])
    return output, (queries, keys, values, weights)


def of_copies(grad_output, cache):
    queries, keys, values, weights = cache
    sharing = queries.shape[-3] // keys.shape[-3]
    copies = [np.repeat(x, sharing, axis=-3) for x in (keys, values)]
    return sharing, attention_backward(grad_output, (queries, *copies, weights))


@wrong("grouped_query_attention_backward", "https://github.com/marin-community/levanter/pull/449", names="not_added_up")
def not_summed_over_the_group(grad_output, cache):
    """Returns a gradient for each query head where the group shares one."""
    _, gradients = of_copies(grad_output, cache)
    return gradients


@wrong(
    "grouped_query_attention_backward",
    "https://github.com/XunhaoLai/native-sparse-attention-triton/issues/27",
    names="gathered_in_turn",
)
def heads_counted_the_other_way(grad_output, cache):
    """Adds up heads as if the groups took turns."""
    sharing, (grad_queries, *rest) = of_copies(grad_output, cache)
    n_groups = cache[1].shape[-3]
    return (
        grad_queries,
        *(g.reshape(*g.shape[:-3], sharing, n_groups, *g.shape[-2:]).sum(axis=-4) for g in rest),
    )


@wrong(
    "grouped_query_attention_backward", "https://github.com/ooples/AiDotNet.Tensors/pull/633", names="first_head_only"
)
def first_head_of_each_group(grad_output, cache):
    """Takes the gradient of the first query head of each group."""
    sharing, (grad_queries, *rest) = of_copies(grad_output, cache)
    return grad_queries, *(g[..., ::sharing, :, :] for g in rest)
