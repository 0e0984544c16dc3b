"""More wrong answers to chapter 5, residual connections and layer normalisation."""

import numpy as np

from solutions.dropout import dropout
from solutions.multihead import multi_head_attention, multi_head_attention_backward
from solutions.residual import (
    add_norm,
    add_norm_backward,
    feed_forward,
    feed_forward_backward,
    layer_norm,
    layer_norm_backward,
    rms_norm_backward,
)
from tests.explanations.registry import wrong


def attend(x, params, n_heads, mask):
    return multi_head_attention(x, x, x, params["attention"], n_heads, mask)[0]


@wrong("layer_norm", "https://github.com/LBANN/lbann/pull/2024", names="unbiased")
def unbiased_variance(x, gain, bias, eps=1e-5):
    """Divides the squares by d - 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, ddof=1, keepdims=True) + eps) * gain + bias, None


@wrong("layer_norm", "https://github.com/mosaicml/llm-foundry/issues/371", names="times_root")
def divided_by_the_inverse(x, gain, bias, eps=1e-5):
    """Divides by the inverse of the root, which multiplies by the root."""
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse_std = 1 / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + eps)
    return centred / inverse_std * gain + bias, (centred / inverse_std, inverse_std, gain)


@wrong("layer_norm", "https://github.com/linkedin/Liger-Kernel/issues/74", names="one_plus_gain")
def gain_from_one(x, gain, bias, eps=1e-5):
    """Treats the gain as its distance from one."""
    centred = x - x.mean(axis=-1, keepdims=True)
    inverse_std = 1 / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + eps)
    return centred * inverse_std * (1 + gain) + bias, (centred * inverse_std, inverse_std, gain)


@wrong("layer_norm", "https://github.com/ggml-org/llama.cpp/pull/1925", names="twice")
def normalised_twice(x, gain, bias, eps=1e-5):
    """Normalises its own output once more."""
    output, _ = layer_norm(x, gain, bias, eps)
    return layer_norm(output, gain, bias, eps)


@wrong("layer_norm_backward", "https://github.com/paiml/aprender/pull/2196", says="is zero everywhere")
def no_gradient_for_the_parameters(grad_output, cache):
    """Returns zeros for gain and bias."""
    grad_x, grad_gain, grad_bias = layer_norm_backward(grad_output, cache)
    return grad_x, np.zeros_like(grad_gain), np.zeros_like(grad_bias)


@wrong("layer_norm_backward", "https://github.com/tenstorrent/tt-metal/pull/12633", names="gain_forgotten")
def parameters_left_out(grad_output, cache):
    """Leaves out the gain on the way to x."""
    normalised, inverse_std, gain = cache
    grad_x, _, _ = layer_norm_backward(grad_output, (normalised, inverse_std, np.ones_like(gain)))
    _, grad_gain, grad_bias = layer_norm_backward(grad_output, cache)
    return grad_x, grad_gain, grad_bias


@wrong("rms_norm_backward", "https://github.com/karpathy/llm.c/pull/763", names="gain_forgotten")
def gain_forgotten(grad_output, cache):
    """Does not multiply by the gain on the way to x."""
    normalised, inverse_rms, gain = cache
    grad_x, _ = rms_norm_backward(grad_output, (normalised, inverse_rms, np.ones_like(gain)))
    return grad_x, rms_norm_backward(grad_output, cache)[1]


@wrong("rms_norm_backward", "https://github.com/flagos-ai/FlagGems/pull/5771", says="has the right proportions along")
def variance_for_its_inverse_root(grad_output, cache):
    """Reads the mean square where the inverse root is meant."""
    normalised, inverse_rms, gain = cache
    grad_x, grad_gain = rms_norm_backward(grad_output, (normalised, inverse_rms**-2, gain))
    return grad_x, grad_gain


@wrong("rms_norm_backward", "https://github.com/linkedin/Liger-Kernel/pull/117", names="not_summed")
def gain_not_summed(grad_output, cache):
    """Does not sum the gain's gradient over the rows."""
    grad_x, _ = rms_norm_backward(grad_output, cache)
    return grad_x, grad_output * cache[0]


@wrong("rms_norm_backward", "https://github.com/huggingface/candle/issues/2168", says="is zero everywhere")
def nothing_for_x(grad_output, cache):
    """Lets no gradient through to x."""
    return np.zeros_like(grad_output), rms_norm_backward(grad_output, cache)[1]


@wrong("add_norm_backward", "https://github.com/ddbourgin/numpy-ml/issues/94", names="mask_not_applied")
def dropout_mask_not_applied(grad_output, cache):
    """Enlarges the update's gradient everywhere, also where the entry was dropped."""
    grad_x, _, grad_params = add_norm_backward(grad_output, cache)
    return grad_x, grad_x * float(np.max(cache[0])), grad_params


@wrong("add_norm_backward", "https://github.com/NVIDIA/apex/pull/816", says="right except for one factor")
def dropout_not_enlarged(grad_output, cache):
    """Multiplies kept entries by the share that is kept, not by its inverse."""
    grad_x, _, grad_params = add_norm_backward(grad_output, cache)
    scale = np.asarray(cache[0], grad_output.dtype)
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    return grad_x, grad_x * inverse, grad_params


@wrong("encoder_layer", "https://github.com/harvardnlp/annotated-transformer/issues/110", names="norm_of_update")
def update_normalised(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Normalises what each sub-layer found, and then adds it."""
    attended, _ = dropout(attend(x, params, n_heads, mask), rate, rng)
    x = x + layer_norm(attended, **params["norm_attention"])[0]
    thought, _ = dropout(feed_forward(x, params["feed_forward"])[0], rate, rng)
    return x + layer_norm(thought, **params["norm_feed_forward"])[0], None


@wrong("encoder_layer", "https://github.com/shivanandmn/Knowledge-Tracing-SAINT/issues/6", names="normalised_stream")
def residual_after_the_norm(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Normalises first, and adds to the normalised stream."""
    x, _ = layer_norm(x, **params["norm_attention"])
    x = x + dropout(attend(x, params, n_heads, mask), rate, rng)[0]
    x, _ = layer_norm(x, **params["norm_feed_forward"])
    return x + dropout(feed_forward(x, params["feed_forward"])[0], rate, rng)[0], None


@wrong("encoder_layer", "https://github.com/codertimo/BERT-pytorch/issues/85", names="output_dropped")
def dropped_once_more(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Drops entries of the output, too."""
    x, _ = add_norm(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    thought, _ = feed_forward(x, params["feed_forward"])
    output, _ = add_norm(x, thought, params["norm_feed_forward"], rate, rng)
    return dropout(output, rate, rng)[0], None


@wrong("encoder_layer", "https://github.com/tensorflow/models/issues/7533", names="no_stream")
def no_residuals(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Has no residual connections."""
    attended, _ = dropout(attend(x, params, n_heads, mask), rate, rng)
    x, _ = layer_norm(attended, **params["norm_attention"])
    thought, _ = dropout(feed_forward(x, params["feed_forward"])[0], rate, rng)
    return layer_norm(thought, **params["norm_feed_forward"])[0], None


@wrong("encoder_layer_backward", "https://github.com/Dao-AILab/quack/pull/53")
def added_before_the_norm(grad_output, cache):
    """Adds both paths before it goes back through the norm."""
    attention_cache, norm_attention_cache, feed_forward_cache, norm_feed_forward_cache = cache
    through, grad_feed_forward = feed_forward_backward(grad_output, feed_forward_cache)
    grad_x, _, grad_norm_feed_forward = add_norm_backward(grad_output + through, norm_feed_forward_cache)
    *grads, grad_attention = multi_head_attention_backward(grad_x, attention_cache)
    grad_x, _, grad_norm_attention = add_norm_backward(grad_x + sum(grads), norm_attention_cache)
    return grad_x, {
        "norm_feed_forward": grad_norm_feed_forward,
        "feed_forward": grad_feed_forward,
        "norm_attention": grad_norm_attention,
        "attention": grad_attention,
    }
