"""Wrong answers to chapter 7, cross-attention."""

import numpy as np

from solutions.cross import cross_attention
from solutions.masking import masked_attention
from solutions.multihead import multi_head_attention, multi_head_attention_backward
from solutions.residual import add_norm, feed_forward
from tests.explanations.registry import wrong


def decoded(x, memory, params, n_heads, self_mask, memory_mask, rate, rng, *, query=None, norms=None, residual=None):
    """A decoder layer; query and residual of the cross-attention, and its norm, are left open."""
    attended, _ = multi_head_attention(x, x, x, params["attention"], n_heads, self_mask)
    stream, _ = add_norm(x, attended, params["norm_attention"], rate, rng)
    asks = stream if query is None else query(x, attended, stream)
    recalled, _ = multi_head_attention(asks, memory, memory, params["cross_attention"], n_heads, memory_mask)
    before = stream if residual is None else residual(x, attended, stream)
    stream, _ = add_norm(before, recalled, params[norms or "norm_cross_attention"], rate, rng)
    thought, _ = feed_forward(stream, params["feed_forward"])
    return add_norm(stream, thought, params["norm_feed_forward"], rate, rng)[0], None


@wrong("cross_attention", "https://github.com/rexrex9/nlp_torchtext/pull/2", names="memory_asks")
def queries_from_the_encoder(x, memory, w_query, w_key, w_value, mask):
    """Makes the queries from the encoder's output, and keys and values from the decoder."""
    return cross_attention(memory, x, w_query, w_key, w_value, np.swapaxes(mask, -1, -2))


@wrong("cross_attention", "https://github.com/bentrevett/pytorch-seq2seq/issues/143", names="only_x")
def keys_and_values_from_the_decoder(x, memory, w_query, w_key, w_value, mask):
    """Makes keys and values from the decoder."""
    return masked_attention(x @ w_query, x @ w_key, x @ w_value, mask)[0], None


@wrong("cross_attention", "https://github.com/zhouhaoyi/Informer2020/issues/38", names="mask_left_out")
def memory_not_masked(x, memory, w_query, w_key, w_value, mask):
    """Does not mask the memory."""
    return cross_attention(x, memory, w_query, w_key, w_value, np.ones_like(mask))


@wrong("cross_attention", "https://github.com/bytedance/lightseq/pull/22", names="values_from_x")
def values_from_the_decoder(x, memory, w_query, w_key, w_value, mask):
    """Makes the values from the decoder."""
    return masked_attention(x @ w_query, memory @ w_key, x @ w_value, mask)[0], None


@wrong("decoder_layer", "https://github.com/ml-explore/mlx/pull/3382", names="asks_with_the_update")
def raw_attention_asks(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Asks the memory with the output of the self-attention, before Add & Norm."""
    masks = (self_mask, memory_mask, rate, rng)
    return decoded(x, memory, params, n_heads, *masks, query=lambda x, attended, stream: attended)


@wrong("decoder_layer", "https://github.com/ml-explore/mlx/issues/1636", names="first_norm_for_cross")
def first_norm_again(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Uses the first norm behind the cross-attention."""
    masks = (self_mask, memory_mask, rate, rng)
    return decoded(x, memory, params, n_heads, *masks, norms="norm_attention")


@wrong("decoder_layer", "https://github.com/facebookresearch/detr/issues/528", names="self_mask_over_memory")
def target_mask_over_the_memory(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Hides the memory by the target's mask."""
    return decoded(x, memory, params, n_heads, self_mask, self_mask, rate, rng)


@wrong("decoder_layer", "https://github.com/keras-team/keras-io/pull/1046", names="layer_without_memory_mask")
def source_mask_unknown(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Does not know the source's padding."""
    return decoded(x, memory, params, n_heads, self_mask, None, rate, rng)


@wrong("decoder_layer", "https://github.com/georgepar/slp/pull/26", names="memory_added")
def memory_as_the_residual(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Adds the encoder's output in place of the decoder's stream."""
    masks = (self_mask, memory_mask, rate, rng)
    return decoded(x, memory, params, n_heads, *masks, residual=lambda x, attended, stream: memory)


@wrong("decoder_layer", "https://github.com/JanSchm/CapMarket/issues/8", names="second_residual_from_x")
def layer_input_as_the_residual(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Adds the layer's input once more behind the cross-attention."""
    masks = (self_mask, memory_mask, rate, rng)
    return decoded(x, memory, params, n_heads, *masks, residual=lambda x, attended, stream: x)


@wrong("multi_head_cross_attention_backward", "https://github.com/NVIDIA/warp/issues/168", names="heads_values_only")
def memory_overwritten(grad_output, cache):
    """The values' gradient of the memory overwrites the keys'."""
    grad_x, _, grad_memory, grad_params = multi_head_attention_backward(grad_output, cache)
    return grad_x, grad_memory, grad_params
