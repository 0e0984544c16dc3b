"""Wrong answers to chapter 7, cross-attention."""

import numpy as np

from solutions.cross import cross_attention, decoder_layer_backward, multi_head_cross_attention_backward
from solutions.masked_attention import masked_attention
from solutions.masking import causal_mask, masked_softmax
from solutions.multihead import multi_head_attention, multi_head_attention_backward
from solutions.residual import add_norm, feed_forward, layer_norm
from tests.explanations.registry import wrong


def decoded(x, memory, params, n_heads, self_mask, memory_mask, rate, rng, *, query=None, norms=None, residual=None):
    """A decoder layer with the query, the residual and the norm of its cross-attention as parameters."""
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


@wrong("cross_attention", "https://github.com/delzac/cntkx/issues/10", names="unscaled")
def not_scaled(x, memory, w_query, w_key, w_value, mask):
    """Leaves out the root of d_key."""
    scores = x @ w_query @ np.swapaxes(memory @ w_key, -1, -2)
    return masked_softmax(scores, mask) @ (memory @ w_value), None


@wrong("cross_attention", "https://github.com/Graylab/DL4Proteins-notebooks/issues/12", names="by_d_model")
def root_of_the_embedding(x, memory, w_query, w_key, w_value, mask):
    """Divides by the root of the embedding's width, not of the head's."""
    scores = x @ w_query @ np.swapaxes(memory @ w_key, -1, -2) * x.shape[-1] ** -0.5
    return masked_softmax(scores, mask) @ (memory @ w_value), None


@wrong("cross_attention", "https://github.com/bytedance/lightseq/pull/22", names="values_from_x")
def values_from_the_decoder(x, memory, w_query, w_key, w_value, mask):
    """Makes the values from the decoder."""
    return masked_attention(x @ w_query, memory @ w_key, x @ w_value, mask)[0], None


@wrong("decoder_layer", "https://github.com/ml-explore/mlx/pull/3382", names="asks_with_the_update")
def raw_attention_asks(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Queries the memory with the output of the self-attention, before Add & Norm."""
    masks = (self_mask, memory_mask, rate, rng)
    return decoded(x, memory, params, n_heads, *masks, query=lambda x, attended, stream: attended)


@wrong("decoder_layer", "https://github.com/ml-explore/mlx/issues/1636", names="first_norm_for_cross")
def first_norm_again(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Uses the first norm after the cross-attention."""
    masks = (self_mask, memory_mask, rate, rng)
    return decoded(x, memory, params, n_heads, *masks, norms="norm_attention")


@wrong("decoder_layer", "https://github.com/facebookresearch/detr/issues/528", names="self_mask_over_memory")
def target_mask_over_the_memory(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Hides the memory by the target's mask."""
    return decoded(x, memory, params, n_heads, self_mask, self_mask, rate, rng)


@wrong("decoder_layer", "https://github.com/keras-team/keras-io/pull/1046", names="layer_without_memory_mask")
def source_mask_unknown(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Ignores the source's padding."""
    return decoded(x, memory, params, n_heads, self_mask, None, rate, rng)


@wrong("decoder_layer", "https://github.com/georgepar/slp/pull/26", names="memory_added")
def memory_as_the_residual(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Adds the encoder's output instead of the decoder's stream."""
    masks = (self_mask, memory_mask, rate, rng)
    return decoded(x, memory, params, n_heads, *masks, residual=lambda x, attended, stream: memory)


@wrong("decoder_layer", "https://github.com/JanSchm/CapMarket/issues/8", names="second_residual_from_x")
def layer_input_as_the_residual(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Adds the layer's input once more after the cross-attention."""
    masks = (self_mask, memory_mask, rate, rng)
    return decoded(x, memory, params, n_heads, *masks, residual=lambda x, attended, stream: x)


@wrong("multi_head_cross_attention_backward", "https://github.com/NVIDIA/warp/issues/168", names="heads_values_only")
def memory_overwritten(grad_output, cache):
    """The values' gradient of the memory overwrites the keys'."""
    grad_x, _, grad_memory, grad_params = multi_head_attention_backward(grad_output, cache)
    return grad_x, grad_memory, grad_params


def steps(x, memory, params, n_heads, self_mask, memory_mask):
    """Return both attentions as functions of the stream."""

    def itself(stream):
        return multi_head_attention(stream, stream, stream, params["attention"], n_heads, self_mask)[0]

    def recalled(stream):
        return multi_head_attention(stream, memory, memory, params["cross_attention"], n_heads, memory_mask)[0]

    return itself, recalled


@wrong("cross_attention", "https://github.com/keras-team/keras-io/issues/1964", names="causal_as_well")
def causal_mask_as_well(x, memory, w_query, w_key, w_value, mask):
    """Hides later words of the memory, too."""
    T, T_memory = x.shape[-2], memory.shape[-2]
    earlier = causal_mask(max(T, T_memory))[:T, :T_memory]
    output, cache = masked_attention(x @ w_query, memory @ w_key, memory @ w_value, mask & earlier)
    return output, (x, memory, w_query, w_key, w_value, cache)


@wrong("decoder_layer", "https://github.com/OpenNMT/OpenNMT-py/issues/1689", names="no_second_norm")
def norm_missing(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Has no norm after the cross-attention."""
    itself, recalled = steps(x, memory, params, n_heads, self_mask, memory_mask)
    x, _ = add_norm(x, itself(x), params["norm_attention"], rate, rng)
    x = x + recalled(x)
    thought, _ = feed_forward(x, params["feed_forward"])
    return add_norm(x, thought, params["norm_feed_forward"], rate, rng)[0], None


@wrong("decoder_layer", "https://github.com/harvardnlp/annotated-transformer/issues/110", names="pre_norm")
def norms_first(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Normalises before each sub-layer."""
    itself, recalled = steps(x, memory, params, n_heads, self_mask, memory_mask)
    x = x + itself(layer_norm(x, **params["norm_attention"])[0])
    x = x + recalled(layer_norm(x, **params["norm_cross_attention"])[0])
    normed, _ = layer_norm(x, **params["norm_feed_forward"])
    return x + feed_forward(normed, params["feed_forward"])[0], None


@wrong(
    "decoder_layer", "https://github.com/DaoyuanLi2816/Molecule-Generator/pull/22", names="layer_without_memory_mask"
)
def padding_of_the_memory_seen(x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None):
    """Does not pass the memory's mask on."""
    itself, recalled = steps(x, memory, params, n_heads, self_mask, None)
    x, _ = add_norm(x, itself(x), params["norm_attention"], rate, rng)
    x, _ = add_norm(x, recalled(x), params["norm_cross_attention"], rate, rng)
    thought, _ = feed_forward(x, params["feed_forward"])
    return add_norm(x, thought, params["norm_feed_forward"], rate, rng)[0], None


@wrong(
    "multi_head_cross_attention_backward",
    "https://github.com/LatentActionPretraining/LAPA/issues/11",
    says="is zero everywhere",
)
def memory_detached(grad_output, cache):
    """Lets no gradient through to the memory."""
    grad_x, grad_memory, grad_params = multi_head_cross_attention_backward(grad_output, cache)
    return grad_x, np.zeros_like(grad_memory), grad_params


@wrong("decoder_layer_backward", "https://github.com/rsarxiv/seq2seq-attention/issues/7", says="is zero everywhere")
def memory_without_gradient(grad_output, cache):
    """Returns zeros for the memory."""
    grad_x, grad_memory, grad_params = decoder_layer_backward(grad_output, cache)
    return grad_x, np.zeros_like(grad_memory), grad_params
