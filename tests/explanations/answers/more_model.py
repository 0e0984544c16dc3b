"""More wrong answers to chapter 8, the whole model."""

import numpy as np

from solutions.logarithms import log_softmax
from solutions.masking import padding_mask
from solutions.model import (
    backward,
    cross_entropy,
    cross_entropy_backward,
    decode,
    encode,
    forward,
    table_for,
)
from solutions.position import positional_embedding
from solutions.residual import encoder_layer, layer_norm
from tests.explanations.registry import wrong


@wrong("encode", "https://github.com/espnet/espnet/issues/1278", names="first_encoder_layer_again")
def first_layer_repeated(params, src, n_heads, pad=0):
    """Uses the first layer's parameters in all layers."""
    return encode(params | {"encoder": [params["encoder"][0]] * len(params["encoder"])}, src, n_heads, pad)


@wrong("encode", "https://github.com/habla-liaa/encodecmae/issues/3")
def feed_forward_shared(params, src, n_heads, pad=0):
    """Shares the first layer's feed-forward."""
    layers = [layer | {"feed_forward": params["encoder"][0]["feed_forward"]} for layer in params["encoder"]]
    return encode(params | {"encoder": layers}, src, n_heads, pad)


@wrong("encode", "https://github.com/LukasHedegaard/continual-inference/pull/70", names="last_encoder_layer_missing")
def one_layer_less(params, src, n_heads, pad=0):
    """Leaves out the last layer."""
    return encode(params | {"encoder": params["encoder"][:-1]}, src, n_heads, pad)


@wrong("encode", "https://github.com/hyunwoongko/transformer/pull/40", names="padding_mask.padded_queries")
def queries_masked(params, src, n_heads, pad=0):
    """Masks the padding's rows, not its columns."""
    x, _ = positional_embedding(src, table_for(params["embeddings"], "source"))
    mask = np.repeat(padding_mask(src, pad).swapaxes(-1, -2), src.shape[-1], axis=-1)
    for layer in params["encoder"]:
        x, _ = encoder_layer(x, layer, n_heads, mask)
    return x, None


@wrong("decode", "https://github.com/pytorch/pytorch/issues/50086", names="decoder_final_norm")
def normalised_once_more(params, tgt, memory, src, n_heads, pad=0):
    """Normalises the last layer's output once more."""
    _, (_, _, (x, table)) = decode(params, tgt, memory, src, n_heads, pad)
    width = x.shape[-1]
    normed, _ = layer_norm(x, np.ones(width, x.dtype), np.zeros(width, x.dtype))
    return normed @ table.T, None


@wrong("decode", "https://github.com/Comfy-Org/ComfyUI/pull/15048", names="output_by_target_table")
def table_of_the_target(params, tgt, memory, src, n_heads, pad=0):
    """Scores the output with the target's table, even if there is one for the output."""
    embeddings = params["embeddings"] | {"output": table_for(params["embeddings"], "target")}
    return decode(params | {"embeddings": embeddings}, tgt, memory, src, n_heads, pad)


@wrong("decode", "https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/138", names="output_scaled")
def logits_scaled(params, tgt, memory, src, n_heads, pad=0):
    """Multiplies the logits by the root of the width."""
    logits, cache = decode(params, tgt, memory, src, n_heads, pad)
    return logits * logits.dtype.type(memory.shape[-1] ** 0.5), cache


@wrong("decode", "https://github.com/hyunwoongko/transformer/issues/11", names="pad_is_zero")
def token_0_is_padding(params, tgt, memory, src, n_heads, pad=0):
    """Treats token 0 as padding, whatever pad is."""
    return decode(params, tgt, memory, src, n_heads, 0)


@wrong("backward", "https://github.com/rsarxiv/seq2seq-attention/issues/7", says="is zero everywhere")
def encoder_without_gradient(grad_logits, cache):
    """Does not pass the memory's gradient to the encoder."""
    gradients = backward(grad_logits, cache)

    def zeros(tree):
        if isinstance(tree, np.ndarray):
            return np.zeros_like(tree)
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        made = {name: zeros(part) for name, part in items}
        return made if isinstance(tree, dict) else list(made.values())

    return gradients | {"encoder": zeros(gradients["encoder"])}


def loss_of(params, src, tgt, n_heads, pad, weigh):
    """Return the loss whose terms have the weights weigh(counted), and its gradients."""
    logits, cache = forward(params, src, tgt[..., :-1], n_heads, pad)
    targets = tgt[..., 1:]
    weights = weigh(targets != pad)
    log_probabilities = log_softmax(logits)
    loss = -(np.take_along_axis(log_probabilities, targets[..., None], axis=-1)[..., 0] * weights).sum()
    difference = np.exp(log_probabilities)
    np.put_along_axis(
        difference,
        targets[..., None],
        np.take_along_axis(difference, targets[..., None], axis=-1) - 1,
        axis=-1,
    )
    return loss, backward((difference * weights[..., None]).astype(logits.dtype), cache)


@wrong("loss_and_gradients", "https://github.com/meta-pytorch/torchtune/pull/1875", names="mean_of_means")
def mean_of_means(params, src, tgt, n_heads, pad=0):
    """Averages over each sentence, and then over the sentences."""

    def weigh(counted):
        lengths = np.maximum(counted.sum(axis=-1, keepdims=True), 1)
        return counted / lengths / lengths.size

    return loss_of(params, src, tgt, n_heads, pad, weigh)


@wrong("loss_and_gradients", "https://github.com/OpenNMT/OpenNMT-py/pull/526", names="by_sentences")
def divided_by_the_sentences(params, src, tgt, n_heads, pad=0):
    """Divides by the number of sentences, not of tokens."""
    return loss_of(params, src, tgt, n_heads, pad, lambda counted: counted / max(1, counted[..., 0].size))


@wrong("loss_and_gradients", "https://github.com/karpathy/nanoGPT/issues/206", names="summed")
def sum_of_the_losses(params, src, tgt, n_heads, pad=0):
    """Divides by nothing."""
    return loss_of(params, src, tgt, n_heads, pad, lambda counted: counted * 1.0)


@wrong("loss_and_gradients", "https://github.com/bentrevett/pytorch-seq2seq/issues/46")
def whole_target_read(params, src, tgt, n_heads, pad=0):
    """Reads the target from its second token on, although it should begin with the begin mark."""
    logits, cache = forward(params, src, tgt[..., 1:], n_heads, pad)
    loss, loss_cache = cross_entropy(logits, tgt[..., 1:], pad)
    return loss, backward(cross_entropy_backward(1.0, loss_cache), cache)
