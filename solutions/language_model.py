"""The language model of chapter 10: one stack of layers that reads `letters SEP sounds` and predicts the next token.

    python -m solutions.language_model WORDS.npz FILE.npz

trains it on the known words and writes its weights.
"""

import sys

import numpy as np

from solutions.letters_to_sounds import RECIPE
from solutions.masking import target_mask
from solutions.model import unembed, unembed_backward
from solutions.parameters import initialise, map_tree, save
from solutions.position import embed_backward, positional_embedding
from solutions.project import batches_by_length, clip_gradients
from solutions.pronunciations import VOCABULARY, load_words, texts_of, token_counts
from solutions.residual import encoder_layer, encoder_layer_backward
from solutions.training import (
    adam_step,
    average,
    noam_learning_rate,
    smoothed_cross_entropy,
    smoothed_cross_entropy_backward,
    zero_moments,
)

N_HEADS, D_MODEL, D_FF, N_LAYERS = 4, 64, 256, 4


def stack_forward(params, tokens, n_heads, pad=0):
    """A decoder alone: predict the next token of one text.

    Args:
        params: {"embeddings": {"shared": table}, "layers": [layer, ...]}, each layer as `encoder_layer` takes it.
        tokens: (..., T), integers.
        n_heads: int
        pad: the padding token.

    Returns:
        logits: (..., T, vocab); row t sees tokens[0 .. t] and scores token t + 1.
        cache: (embedding_cache, layer_caches, output_cache)

    Source: Radford et al. 2018; the layers are those of the encoder, with the decoder's mask.
    """
    table = params["embeddings"]["shared"]
    x, embedding_cache = positional_embedding(tokens, table)
    mask = target_mask(tokens, pad)
    layer_caches = []
    for layer in params["layers"]:
        x, layer_cache = encoder_layer(x, layer, n_heads, mask)
        layer_caches.append(layer_cache)
    logits, output_cache = unembed(x, table)
    return logits, (embedding_cache, layer_caches, output_cache)


def stack_backward(grad_logits, cache):
    """The gradient of every parameter of `stack_forward`.

    Args:
        grad_logits: (..., T, vocab)
        cache: (embedding_cache, layer_caches, output_cache) of `stack_forward`.

    Returns:
        grad_params: nested dict with the keys and shapes of params.
    """
    embedding_cache, layer_caches, output_cache = cache
    grad_x, grad_output_table = unembed_backward(grad_logits, output_cache)
    grad_layers = []
    for layer_cache in reversed(layer_caches):
        grad_x, grad_layer = encoder_layer_backward(grad_x, layer_cache)
        grad_layers.insert(0, grad_layer)
    table = embed_backward(grad_x, embedding_cache) + grad_output_table
    return {"embeddings": {"shared": table}, "layers": grad_layers}


def fresh_stack(seed):
    """The parameters before training: {"embeddings": {"shared": table}, "layers": [layer, ...]}, float32."""
    rng = np.random.default_rng(seed)
    whole = initialise(rng, {"shared": len(VOCABULARY)}, D_MODEL, D_FF, N_LAYERS, 0, dtype=np.float32)
    return {"embeddings": whole["embeddings"], "layers": whole["encoder"]}


def trained_stack(recipe, words):
    """Train the language model to the end.

    Args:
        recipe: see `letters_to_sounds.RECIPE`.
        words: Words.

    Returns:
        params: the mean of every twentieth set of weights in the last share `averaged` of the steps.
        losses: (steps,), the smoothed cross-entropy of each batch before its step.
    """
    params = fresh_stack(recipe["seed"])
    moments, losses, kept = zero_moments(params), [], []
    for step, tokens in zip(range(1, recipe["steps"] + 1), _batches(recipe, texts_of(words)), strict=False):
        logits, cache = stack_forward(params, tokens[:, :-1], N_HEADS)
        loss, loss_cache = smoothed_cross_entropy(logits, tokens[:, 1:], recipe["smoothing"])
        gradients = stack_backward(smoothed_cross_entropy_backward(1.0, loss_cache), cache)
        gradients, _ = clip_gradients(gradients, recipe["longest"])
        rate = recipe["peak"] * recipe["warmup"] ** 0.5 * noam_learning_rate(step, 1, recipe["warmup"])
        params, moments = adam_step(params, gradients, moments, step, rate)
        losses.append(float(loss))
        if step % 20 == 0 and step > (1 - recipe["averaged"]) * recipe["steps"]:
            kept.append(params)
    return average(kept or [params]), np.array(losses)


def _batches(recipe, texts):
    rng = np.random.default_rng([recipe["seed"], 1])
    sizes = np.stack([np.zeros(len(texts), int), token_counts(texts)], axis=1)
    while True:
        order = rng.permutation(len(texts))
        batches, _ = batches_by_length(sizes[order], recipe["tokens"])
        for i in rng.permutation(len(batches)).tolist():
            rows = texts[order[batches[i]]]
            yield rows[:, : token_counts(rows).max()]


def main(words_path, path):
    params, losses = trained_stack(RECIPE, load_words(words_path)["known"])
    save(path, map_tree(lambda array: array.astype(np.float16), params))
    print(f"loss {losses[0]:.2f} at the beginning, {losses[-100:].mean():.3f} at the end")


if __name__ == "__main__":
    main(*sys.argv[1:])
