"""Chapter 8, the full model: encoder, decoder, loss, and the gradient of every parameter.

params is a plain nested dict: {"embeddings": {...}, "encoder": [layer, ...], "decoder": [layer, ...]}. Source, target
and output use the table "shared", except those that have a table of their own. `decoding` writes text with this model,
word by word.
"""

import numpy as np

from solutions.cross import DecoderLayerCache, decoder_layer, decoder_layer_backward
from solutions.logarithms import log_softmax
from solutions.masking import padding_mask, target_mask
from solutions.multihead import cached_weights
from solutions.position import embed_backward, positional_embedding
from solutions.residual import encoder_layer, encoder_layer_backward


def table_for(embeddings, role):
    """The embedding table of a role, "source", "target" or "output": its own if there is one, else the shared one."""
    return embeddings[role if role in embeddings else "shared"]


def tie(gradients, names):
    """Add up the gradients of roles that share a table.

    Args:
        gradients: dict of role ("source", "target", "output") -> (vocab, d_model).
        names: names of the tables that exist, from "source", "target", "output", "shared".

    Returns:
        tied: dict of table name -> (vocab, d_model).
    """
    tied = {}
    for role, gradient in gradients.items():
        name = role if role in names else "shared"
        tied[name] = tied[name] + gradient if name in tied else gradient
    return tied


def unembed(x, table):
    """Score every token of the vocabulary by how well its row fits: logits = x table^T.

    Args:
        x: (..., T, d_model)
        table: (vocab, d_model)

    Returns:
        logits: (..., T, vocab)
        cache: (x, table)

    Source: Vaswani et al. 2017, section 3.4, "the pre-softmax linear transformation"; without bias.
    """
    return x @ table.T, (x, table)


def unembed_backward(grad_logits, cache):
    """C = A B^T gives dA = dC B and dB = dC^T A.

    Args:
        grad_logits: (..., T, vocab)
        cache: (x, table) of `unembed`.

    Returns:
        grad_x: (..., T, d_model)
        grad_table: (vocab, d_model)
    """
    x, table = cache
    grad_rows = grad_logits.reshape(-1, len(table))
    return (grad_rows @ table).reshape(x.shape), grad_rows.T @ x.reshape(-1, x.shape[-1])


def encode(params, src, n_heads, pad=0):
    """Read the source: embed it, then apply one encoder layer after another.

    Args:
        params: {"embeddings": {...}, "encoder": [layer, ...],
            "decoder": [layer, ...]}; a role without a table of its own
            ("source", "target", "output") uses the "shared" one.
        src: (..., T_src), integers.
        n_heads: int
        pad: the padding token, to which no word attends.

    Returns:
        memory: (..., T_src, d_model), in the dtype of the parameters.
        cache: (embedding_cache, layer_caches)

    Source: Vaswani et al. 2017, section 3.1 and figure 1, left.
    """
    x, embedding_cache = positional_embedding(src, table_for(params["embeddings"], "source"))
    mask = padding_mask(src, pad)
    layer_caches = []
    for layer in params["encoder"]:
        x, layer_cache = encoder_layer(x, layer, n_heads, mask)
        layer_caches.append(layer_cache)
    return x, (embedding_cache, layer_caches)


def encode_backward(grad_memory, cache):
    """The gradients of `encode`, from the last layer to the embedding.

    Args:
        grad_memory: (..., T_src, d_model)
        cache: (embedding_cache, layer_caches) of `encode`.

    Returns:
        grad_source_table: (vocab, d_model)
        grad_layers: list of nested dicts, like params["encoder"].
    """
    embedding_cache, layer_caches = cache
    grad_x, grad_layers = grad_memory, []
    for layer_cache in reversed(layer_caches):
        grad_x, grad_layer = encoder_layer_backward(grad_x, layer_cache)
        grad_layers.insert(0, grad_layer)
    return embed_backward(grad_x, embedding_cache), grad_layers


def decode(params, tgt, memory, src, n_heads, pad=0):
    """After each prefix of the target, score every token as the next one.

    Args:
        params: see `encode`.
        tgt: (..., T_tgt), integers: what is written so far, begin mark first.
        memory: (..., T_src, d_model), what `encode` returned.
        src: (..., T_src), integers, of which only the padding matters.
        n_heads: int
        pad: the padding token, to which no word attends.

    Returns:
        logits: (..., T_tgt, vocab), in the dtype of the parameters; row t
            sees tgt[0 .. t] and scores token t + 1.
        cache: (embedding_cache, layer_caches, output_cache)

    Source: Vaswani et al. 2017, section 3.1 and figure 1, right.
    """
    x, embedding_cache = positional_embedding(tgt, table_for(params["embeddings"], "target"))
    over_target, over_memory = target_mask(tgt, pad), padding_mask(src, pad)
    layer_caches = []
    for layer in params["decoder"]:
        x, layer_cache = decoder_layer(x, memory, layer, n_heads, over_target, over_memory)
        layer_caches.append(layer_cache)
    logits, output_cache = unembed(x, table_for(params["embeddings"], "output"))
    return logits, (embedding_cache, layer_caches, output_cache)


def decode_backward(grad_logits, cache):
    """The gradients of `decode`. Every decoder layer has read the memory, so every one adds to its gradient.

    Args:
        grad_logits: (..., T_tgt, vocab)
        cache: (embedding_cache, layer_caches, output_cache) of `decode`.

    Returns:
        grad_memory: (..., T_src, d_model)
        grad_target_table: (vocab, d_model)
        grad_output_table: (vocab, d_model)
        grad_layers: list of nested dicts, like params["decoder"].
    """
    embedding_cache, layer_caches, output_cache = cache
    grad_x, grad_output_table = unembed_backward(grad_logits, output_cache)
    grad_memory, grad_layers = 0.0, []
    for layer_cache in reversed(layer_caches):
        grad_x, grad_from_layer, grad_layer = decoder_layer_backward(grad_x, layer_cache)
        grad_memory = grad_memory + grad_from_layer
        grad_layers.insert(0, grad_layer)
    return grad_memory, embed_backward(grad_x, embedding_cache), grad_output_table, grad_layers


def cross_attention_weights(cache):
    """What each target position looked at in the source: the alignment, layer by layer.

    Args:
        cache: the cache of `decode`.

    Returns:
        weights: (n_decoder, ..., n_heads, T_tgt, T_src)
    """
    _, layer_caches, _ = cache
    return np.stack([cached_weights(DecoderLayerCache(*layer_cache).cross_cache) for layer_cache in layer_caches])


def forward(params, src, tgt, n_heads, pad=0):
    """The whole model: encode the source, decode the target.

    Args:
        params: see `encode`.
        src: (..., T_src), integers.
        tgt: (..., T_tgt), integers, shifted right already: it begins with
            the begin mark and lacks the last token.
        n_heads: int
        pad: the padding token.

    Returns:
        logits: (..., T_tgt, vocab), in the dtype of the parameters.
        cache: (encoder_cache, decoder_cache, table_names)

    Source: Vaswani et al. 2017, section 3 and figure 1.
    """
    table_names = tuple(params["embeddings"])
    memory, encoder_cache = encode(params, src, n_heads, pad)
    logits, decoder_cache = decode(params, tgt, memory, src, n_heads, pad)
    return logits, (encoder_cache, decoder_cache, table_names)


def backward(grad_logits, cache):
    """The gradient of every parameter, from the gradient of the logits.

    Args:
        grad_logits: (..., T_tgt, vocab)
        cache: (encoder_cache, decoder_cache, table_names) of `forward`:
            encoder_cache is (embedding_cache, layer_caches), decoder_cache
            is (embedding_cache, layer_caches, output_cache), and
            output_cache is (x, table), whose product is the logits. The
            layers are in the order of params, and table_names lists the
            tables.

    Returns:
        grad_params: nested dict with the keys and shapes of params.

    Source: derived in this chapter.
    """
    encoder_cache, decoder_cache, table_names = cache
    grad_memory, grad_target, grad_output, grad_decoder = decode_backward(grad_logits, decoder_cache)
    grad_source, grad_encoder = encode_backward(grad_memory, encoder_cache)
    grad_tables = tie({"source": grad_source, "target": grad_target, "output": grad_output}, table_names)
    return {"embeddings": grad_tables, "encoder": grad_encoder, "decoder": grad_decoder}


def cross_entropy(logits, targets, pad=0):
    """The surprise at the right tokens, -log p, averaged over the targets that are not padding.

    Args:
        logits: (..., T, vocab)
        targets: (..., T), integers in 0 .. vocab - 1.
        pad: targets equal to it do not count, whatever their logits are, even inf or NaN.

    Returns:
        loss: a scalar in the dtype of `logits`; 0 if every target is padding.
        cache: (log_probabilities, labels, counted) with counted = (targets != pad), (..., T), and the other two for
            the n counted targets only: (n, vocab) and (n,).
    """
    counted = targets != pad
    # Selected, not multiplied by 0: 0 * inf is NaN.
    log_probabilities, labels = log_softmax(logits[counted]), targets[counted]
    right = log_probabilities[np.arange(len(labels)), labels]
    return -right.sum() / max(1, len(labels)), (log_probabilities, labels, counted)


def cross_entropy_backward(grad_loss, cache):
    """Gradient of `cross_entropy`: (p - q) / n with one-hot q where a target counts, zero at padding.

    Args:
        grad_loss: float, 1 for the gradient of the loss itself.
        cache: (log_probabilities, labels, counted) of `cross_entropy`.

    Returns:
        grad_logits: (..., T, vocab)
    """
    log_probabilities, labels, counted = cache
    n, vocab = log_probabilities.shape
    difference = np.exp(log_probabilities)
    difference[np.arange(n), labels] -= 1
    grad_logits = np.zeros((*counted.shape, vocab), dtype=difference.dtype)
    grad_logits[counted] = difference * (grad_loss / max(1, n))
    return grad_logits


def loss_and_gradients(params, src, tgt, n_heads, pad=0):
    """Predict every next token from the right prefix, then go all the way back.

    Args:
        params: see `encode`.
        src: (..., T_src), integers.
        tgt: (..., T_tgt), integers, from the begin mark to the end mark,
            then padding.
        n_heads: int
        pad: the padding token.

    Returns:
        loss: a scalar, the cross-entropy of tgt[1:] given tgt[:-1],
            averaged over the tokens that are not padding.
        grad_params: nested dict with the keys and shapes of params.

    Source: Vaswani et al. 2017, section 3; "outputs (shifted right)" in
    figure 1.
    """
    logits, cache = forward(params, src, tgt[..., :-1], n_heads, pad)
    loss, loss_cache = cross_entropy(logits, tgt[..., 1:], pad)
    return loss, backward(cross_entropy_backward(1.0, loss_cache), cache)


def repaired_model_loss(params, src, tgt, n_heads, pad):
    """The loss of a whole model on a padded batch, with its bugs fixed.

    Args:
        params: see `encode`; its only table is "shared".
        src: (N, T_src), integers.
        tgt: (N, T_tgt), integers, from the begin mark to the end mark, then
            padding.
        n_heads: int
        pad: the padding token.

    Returns:
        loss: a scalar, the cross-entropy of each token given those before
            it, averaged over all but padding; finite however large the
            scores and the logits are.
    """
    loss, _ = loss_and_gradients(params, src, tgt, n_heads, pad)
    return loss
