"""Wrong answers to chapter 4, multi-head attention."""

import math

import numpy as np

from solutions.attention import attention
from solutions.heads import merge_heads
from solutions.masked_attention import masked_attention
from solutions.multihead import multi_head_attention_backward, split_heads
from tests.explanations.registry import wrong


def projected(query, key, value, params, n_heads):
    inputs = zip(("query", "key", "value"), (query, key, value), strict=True)
    return [split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads) for name, x in inputs]


def attended(heads, mask):
    return (attention(*heads) if mask is None else masked_attention(*heads, np.expand_dims(mask, -3)))[0]


@wrong("split_heads", "https://github.com/reczoo/FuxiCTR/issues/30", names="only_a_view")
def viewed_as_heads(x, n_heads):
    """Reshapes to the shape with heads without moving an axis."""
    *batch, length, d_model = x.shape
    if d_model % n_heads:
        raise ValueError
    return x.reshape(*batch, n_heads, length, d_model // n_heads)


@wrong("split_heads", "https://github.com/lsdefine/attention-is-all-you-need-keras/issues/36", names="heads_in_front")
def heads_before_the_batch(x, n_heads):
    """Moves the heads to the very front."""
    *batch, length, d_model = x.shape
    if d_model % n_heads:
        raise ValueError
    return np.moveaxis(x.reshape(*batch, length, n_heads, d_model // n_heads), -2, 0)


@wrong("multi_head_attention", "https://github.com/lucidrains/vit-pytorch/issues/65", names="scaled_by_d_model")
def root_of_the_whole_width(query, key, value, params, n_heads, mask=None):
    """Scales by the root of all features, not of one head's."""
    queries, keys, values = projected(query, key, value, params, n_heads)
    output = attended((queries / queries.dtype.type(math.sqrt(n_heads)), keys, values), mask)
    return merge_heads(output) @ params["w_output"] + params["b_output"], None


@wrong(
    "multi_head_attention", "https://github.com/lsdefine/attention-is-all-you-need-keras/issues/36", names="mask_tiled"
)
def mask_repeated_in_the_wrong_order(query, key, value, params, n_heads, mask=None):
    """Folds the heads in front of the batch, and repeats the mask the other way round."""
    heads = projected(query, key, value, params, n_heads)
    if mask is None:
        output = attended(heads, None)
    else:
        *batch, _, length, _ = heads[0].shape
        full = np.broadcast_to(mask, (*batch, length, heads[1].shape[-2])).reshape(-1, length, heads[1].shape[-2])
        folded = [np.moveaxis(h, -3, 0).reshape(-1, *h.shape[-2:]) for h in heads]
        flat, _ = masked_attention(*folded, np.repeat(full, n_heads, axis=0))
        output = np.moveaxis(flat.reshape(n_heads, *batch, *flat.shape[-2:]), 0, -3)
    return merge_heads(output) @ params["w_output"] + params["b_output"], None


@wrong("multi_head_attention", "https://github.com/ethen8181/machine-learning/issues/13", names="without_w_output")
def last_projection_unused(query, key, value, params, n_heads, mask=None):
    """Returns the heads side by side, without the last projection."""
    return merge_heads(attended(projected(query, key, value, params, n_heads), mask)), None


@wrong(
    "multi_head_attention",
    "https://github.com/649453932/Chinese-Text-Classification-Pytorch/issues/10",
    names="merge_is_a_view",
)
def merged_by_a_view(query, key, value, params, n_heads, mask=None):
    """Merges the heads with only a reshape."""
    heads = attended(projected(query, key, value, params, n_heads), mask)
    *batch, n_heads, length, d_head = heads.shape
    return heads.reshape(*batch, length, n_heads * d_head) @ params["w_output"] + params["b_output"], None


@wrong("multi_head_attention", "https://github.com/lucidrains/MEGABYTE-pytorch/issues/13")
def one_head_of_keys_and_values(query, key, value, params, n_heads, mask=None):
    """All heads share the keys and values of the first."""
    queries, keys, values = projected(query, key, value, params, n_heads)
    heads = (
        queries,
        np.broadcast_to(keys[..., :1, :, :], keys.shape),
        np.broadcast_to(values[..., :1, :, :], values.shape),
    )
    return merge_heads(attended(heads, mask)) @ params["w_output"] + params["b_output"], None


@wrong("multi_head_attention_backward", "https://github.com/paiml/aprender/pull/2203")
def only_the_output_learns(grad_output, cache):
    """Lets no gradient through the attention itself."""
    grad_query, grad_key, grad_value, grads = multi_head_attention_backward(grad_output, cache)
    zeros = {name: grad if name.endswith("output") else np.zeros_like(grad) for name, grad in grads.items()}
    return np.zeros_like(grad_query), np.zeros_like(grad_key), np.zeros_like(grad_value), zeros


@wrong(
    "multi_head_attention_backward",
    "https://github.com/ooples/AiDotNet.Tensors/issues/49",
    names="query_and_key_exchanged",
)
def query_and_key_swapped(grad_output, cache):
    """Swaps the gradients of query and key."""
    grad_query, grad_key, grad_value, grads = multi_head_attention_backward(grad_output, cache)
    return grad_key, grad_query, grad_value, grads


@wrong("multi_head_attention", "https://github.com/yflyzhang/AnnotatedTransformer/issues/1", names="values_by_w_key")
def values_from_the_key_matrix(query, key, value, params, n_heads, mask=None):
    """Projects the values with the keys' matrix."""
    shared = params | {"w_value": params["w_key"], "b_value": params["b_key"]}
    return merge_heads(attended(projected(query, key, value, shared, n_heads), mask)) @ params["w_output"] + params[
        "b_output"
    ], None
