"""Wrong answers to chapter 5, residual connections and layer normalisation."""

import numpy as np

from solutions.backward import linear_backward
from solutions.dropout import dropout
from solutions.multihead import multi_head_attention, multi_head_attention_backward
from solutions.residual import (
    add_norm,
    add_norm_backward,
    feed_forward,
    feed_forward_backward,
    layer_norm,
    layer_norm_backward,
    pre_norm_encoder_layer,
)
from tests.explanations.registry import wrong


def attend(x, params, n_heads, mask):
    return multi_head_attention(x, x, x, params["attention"], n_heads, mask)[0]


def normalised(x, gain, bias, eps, axis=-1, power=0.5):
    centred = x - x.mean(axis=axis, keepdims=True)
    variance = np.mean(centred**2, axis=axis, keepdims=True)
    return centred / (variance + eps) ** power * gain + bias, None


@wrong("layer_norm", "https://github.com/hyunwoongko/transformer/issues/7", names="unbiased_eps_outside")
def unbiased_and_outside(x, gain, bias, eps=1e-5):
    """The default standard deviation of PyTorch, with eps added to it."""
    deviation = x.std(axis=-1, ddof=1, keepdims=True)
    return gain * (x - x.mean(axis=-1, keepdims=True)) / (deviation + eps) + bias, None


@wrong("layer_norm", "https://github.com/131250208/TPlinker-joint-extraction/issues/37", names="squared")
def squared_for_the_root(x, gain, bias, eps=1e-5):
    """Squares the variance where its root belongs."""
    return normalised(x, gain, bias, eps, power=2)


@wrong("layer_norm", "https://github.com/jadore801120/attention-is-all-you-need-pytorch/pull/17", names="over_time")
def along_the_sentence(x, gain, bias, eps=1e-5):
    """Takes mean and variance along the sentence."""
    return normalised(x, gain, bias, eps, axis=-2 if x.ndim > 1 else -1)


@wrong(
    "layer_norm",
    "https://github.com/Qualcomm-AI-research/geometric-algebra-transformer/pull/8",
    names="all_but_the_first",
)
def all_axes_but_the_first(x, gain, bias, eps=1e-5):
    """Normalises over all axes but the first."""
    return normalised(x, gain, bias, eps, axis=tuple(range(1, x.ndim)) or -1)


@wrong("layer_norm", "https://github.com/tracel-ai/burn/issues/2185", names="eps_outside")
def eps_beside_the_root(x, gain, bias, eps=1e-5):
    """Adds eps to the root."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (x.std(axis=-1, keepdims=True) + eps) * gain + bias, None


@wrong("layer_norm", "https://github.com/Kyubyong/transformer/issues/40", names="batch_norm")
def batch_norm(x, gain, bias, eps=1e-5):
    """Normalises each feature over all rows."""
    return normalised(x, gain, bias, eps, axis=tuple(range(x.ndim - 1)))


@wrong("layer_norm", "https://github.com/HenryNdubuaku/nanodl/pull/24")
def dropout_rate_for_eps(x, gain, bias, eps=1e-5):
    """Passes the dropout rate as eps."""
    return normalised(x, gain, bias, 0.1)


@wrong("layer_norm", "https://github.com/camlab-ethz/poseidon/issues/6", says="a term left out")
def mean_of_squares(x, gain, bias, eps=1e-5):
    """Divides by the root of the mean square, not of the variance."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * gain + bias, None


@wrong(
    "layer_norm_backward",
    "https://github.com/tenstorrent/tt-metal/issues/53204",
    says="off by the same number",
)
def mean_subtracted_twice(grad_output, cache):
    """Subtracts the mean's term twice."""
    grad_x, grad_gain, grad_bias = layer_norm_backward(grad_output, cache)
    _, inverse_std, gain = cache
    return grad_x - inverse_std * np.mean(grad_output * gain, axis=-1, keepdims=True), grad_gain, grad_bias


@wrong("layer_norm_backward", "https://github.com/Oneflow-Inc/oneflow/pull/6149", names="gain_and_bias_exchanged")
def gain_and_bias_exchanged(grad_output, cache):
    """Swaps the gradients of gain and bias."""
    grad_x, grad_gain, grad_bias = layer_norm_backward(grad_output, cache)
    return grad_x, grad_bias, grad_gain


@wrong("layer_norm_backward", "https://github.com/flagos-ai/FlagGems/pull/59")
def sums_over_a_whole_block(grad_output, cache):
    """Sums over all rows where each row needs sums of its own."""
    x_hat, inverse_std, gain = cache
    _, grad_gain, grad_bias = layer_norm_backward(grad_output, cache)
    grad, width = grad_output * gain, grad_output.shape[-1]
    return inverse_std * (grad - (grad.sum() + x_hat * (grad * x_hat).sum()) / width), grad_gain, grad_bias


@wrong("layer_norm_backward", "https://github.com/mlpack/mlpack/pull/2474", names="mean_constant")
def path_through_the_mean_lost(grad_output, cache):
    """Lacks the path through the mean."""
    grad_x, grad_gain, grad_bias = layer_norm_backward(grad_output, cache)
    _, inverse_std, gain = cache
    return grad_x + inverse_std * np.mean(grad_output * gain, axis=-1, keepdims=True), grad_gain, grad_bias


@wrong("feed_forward_backward", "https://github.com/haifengl/smile/issues/528", names="slope_alone")
def slope_for_the_gradient(grad_output, cache):
    """Overwrites the gradient with relu's slope, 0 or 1."""
    in_cache, out_cache = cache
    _, grad_w_out, grad_b_out = linear_backward(grad_output, out_cache)
    grad_x, grad_w_in, grad_b_in = linear_backward((out_cache[0] > 0).astype(grad_output.dtype), in_cache)
    return grad_x, {"w_out": grad_w_out, "b_out": grad_b_out, "w_in": grad_w_in, "b_in": grad_b_in}


@wrong("feed_forward_backward", "https://github.com/iamtrask/Grokking-Deep-Learning/pull/13", names="no_gate")
def zero_counts_as_positive(grad_output, cache):
    """Asks relu's output whether it is at least zero, which it always is."""
    in_cache, out_cache = cache
    grad_active, grad_w_out, grad_b_out = linear_backward(grad_output, out_cache)
    grad_x, grad_w_in, grad_b_in = linear_backward(grad_active * (out_cache[0] >= 0), in_cache)
    return grad_x, {"w_out": grad_w_out, "b_out": grad_b_out, "w_in": grad_w_in, "b_in": grad_b_in}


@wrong(
    "feed_forward_backward",
    "https://github.com/utkuozbulak/pytorch-cnn-visualizations/issues/36",
    names="gate_of_the_gradient",
)
def negative_gradients_dropped(grad_output, cache):
    """Lets positive gradients through, not gradients of what was positive."""
    in_cache, out_cache = cache
    grad_active, grad_w_out, grad_b_out = linear_backward(grad_output, out_cache)
    grad_x, grad_w_in, grad_b_in = linear_backward(np.maximum(grad_active, 0), in_cache)
    return grad_x, {"w_out": grad_w_out, "b_out": grad_b_out, "w_in": grad_w_in, "b_in": grad_b_in}


@wrong("add_norm_backward", "https://github.com/paiml/entrenar/issues/313", says="zero everywhere")
def skip_not_added(grad_output, cache):
    """Loses the gradient that goes straight through the sum."""
    dropout_cache, norm_cache = cache
    grad_stream, grad_gain, grad_bias = layer_norm_backward(grad_output, norm_cache)
    return np.zeros_like(grad_stream), grad_stream * dropout_cache, {"gain": grad_gain, "bias": grad_bias}


@wrong("encoder_layer", "https://github.com/strutive07/transformer-tensorflow2.0/issues/14", names="from_the_input")
def second_sum_from_the_input(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Adds the layer's input to the feed-forward's output."""
    stream, _ = add_norm(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    thought, _ = feed_forward(stream, params["feed_forward"])
    return add_norm(x, thought, params["norm_feed_forward"], rate, rng)[0], None


def both_sums(x, params, n_heads, mask, add):
    x = add(x, attend(x, params, n_heads, mask), params["norm_attention"])
    return add(x, feed_forward(x, params["feed_forward"])[0], params["norm_feed_forward"]), None


@wrong("encoder_layer", "https://github.com/hyunwoongko/transformer/issues/8", names="drops_after")
def dropout_at_the_end(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Drops after the norm."""

    def add(x, update, norm):
        return dropout(layer_norm(x + update, **norm)[0], rate, rng)[0]

    return both_sums(x, params, n_heads, mask, add)


@wrong("encoder_layer", "https://github.com/soobinseo/Transformer-TTS/issues/11", names="drops_the_sum")
def dropout_after_the_sum(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Drops entries of the sum."""

    def add(x, update, norm):
        return layer_norm(dropout(x + update, rate, rng)[0], **norm)[0]

    return both_sums(x, params, n_heads, mask, add)


@wrong("encoder_layer", "https://github.com/OpenNMT/OpenNMT-tf/issues/207", names="drops_the_stream")
def input_dropped(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Drops entries of x, not of the update."""

    def add(x, update, norm):
        return layer_norm(dropout(x, rate, rng)[0] + update, **norm)[0]

    return both_sums(x, params, n_heads, mask, add)


@wrong("encoder_layer", "https://github.com/kyegomez/BitNet/issues/32", says="in a place where `x` belongs")
def attention_added_to_itself(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Overwrites x with the attention's output before it adds the two."""
    x = attend(x, params, n_heads, mask)
    stream, _ = add_norm(x, x, params["norm_attention"], rate, rng)
    thought, _ = feed_forward(stream, params["feed_forward"])
    return add_norm(stream, thought, params["norm_feed_forward"], rate, rng)[0], None


@wrong("encoder_layer", "https://github.com/bentrevett/pytorch-seq2seq/pull/100", names="first_norm_twice")
def one_norm_for_both(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Shares one norm between the sub-layers."""
    stream, _ = add_norm(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    thought, _ = feed_forward(stream, params["feed_forward"])
    return add_norm(stream, thought, params["norm_attention"], rate, rng)[0], None


@wrong("encoder_layer", "https://github.com/harvardnlp/annotated-transformer/issues/13", names="pre_norm")
def norms_first(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Normalises before each sub-layer."""
    return pre_norm_encoder_layer(x, params, n_heads, mask, rate, rng)[0], None


@wrong("encoder_layer", "https://github.com/theislab/CellFlow/pull/296", says="`x` in a place where")
def feed_forward_thrown_away(x, params, n_heads, mask=None, rate=0.0, rng=None):
    """Drops entries of the stream instead of the feed-forward's output."""
    stream, _ = add_norm(x, attend(x, params, n_heads, mask), params["norm_attention"], rate, rng)
    return add_norm(stream, stream, params["norm_feed_forward"], rate, rng)[0], None


@wrong("encoder_layer_backward", "https://github.com/paiml/entrenar/issues/313", names="not_past_the_thinking")
def second_skip_not_added(grad_output, cache):
    """Loses the straight path past the feed-forward."""
    attention_cache, norm_attention_cache, feed_forward_cache, norm_feed_forward_cache = cache
    _, grad_thought, grad_norm_feed_forward = add_norm_backward(grad_output, norm_feed_forward_cache)
    grad_x, grad_feed_forward = feed_forward_backward(grad_thought, feed_forward_cache)
    grad_x, grad_attended, grad_norm_attention = add_norm_backward(grad_x, norm_attention_cache)
    *grads, grad_attention = multi_head_attention_backward(grad_attended, attention_cache)
    return grad_x + sum(grads), {
        "norm_feed_forward": grad_norm_feed_forward,
        "feed_forward": grad_feed_forward,
        "norm_attention": grad_norm_attention,
        "attention": grad_attention,
    }
