"""The model of chapter 12: a stack of modern layers that reads a word and writes what it means. Given.

    python -m solutions.definer ENTRIES.npz FILE.npz

trains it on the known entries with the book's recipe and writes its weights and its losses.
"""

import math
import sys
from functools import partial
from itertools import islice

import numpy as np

from solutions.definer_parameters import SIZES, fresh_definer
from solutions.definitions import (
    PAD,
    endless_batches,
    load_entries,
    load_merges,
    numbered,
    padded,
    vocabulary_of,
)
from solutions.dictionary import adamw_step, modern_layer, modern_layer_backward, text_tokens
from solutions.logarithms import log_softmax
from solutions.model import unembed, unembed_backward
from solutions.norms import rms_norm
from solutions.parameters import flatten
from solutions.position import embed, embed_backward
from solutions.project import clip_gradients
from solutions.residual import rms_norm_backward
from solutions.training import smoothed_cross_entropy, smoothed_cross_entropy_backward, zero_moments

# Everything that decides the weights, besides the entries: see `train`.
RECIPE = {"seed": 0, "steps": 12_500, "size": 32, "peak": 0.003, "decay": 0.05}
RANGES = {"seed": (0, 2**32 - 1), "steps": (1, 200_000), "size": (1, 1_000), "peak": (0, 1), "decay": (0, 10)}
LOOKED_AT = 500  # the interval in steps between two losses in the file that `main` writes


def definer_forward(params, tokens, n_heads):
    """Predict the next token of each text.

    Args:
        params: see `fresh_definer`.
        tokens: (..., T), integers. Padding stands at the end, where the causal mask hides it from all other tokens.
        n_heads: int

    Returns:
        logits: (..., T, vocab); row t sees tokens[0 .. t] and scores token t + 1.
        cache: (embedding_cache, layer_caches, norm_cache, output_cache)
    """
    x, embedding_cache = embed(tokens, params["table"])
    layer_caches = []
    for layer in params["layers"]:
        x, layer_cache = modern_layer(x, layer, n_heads)
        layer_caches.append(layer_cache)
    normed, norm_cache = rms_norm(x, params["norm"])
    logits, output_cache = unembed(normed, params["table"])
    return logits, (embedding_cache, layer_caches, norm_cache, output_cache)


def definer_backward(grad_logits, cache):
    """The gradient of every parameter of `definer_forward`; the table has two, which add up.

    Args:
        grad_logits: (..., T, vocab)
        cache: (embedding_cache, layer_caches, norm_cache, output_cache) of `definer_forward`.

    Returns:
        grad_params: nested dict with the keys and shapes of params.
    """
    embedding_cache, layer_caches, norm_cache, output_cache = cache
    grad_normed, grad_output_table = unembed_backward(grad_logits, output_cache)
    grad_x, grad_norm = rms_norm_backward(grad_normed, norm_cache)
    grad_layers = []
    for layer_cache in reversed(layer_caches):
        grad_x, grad_layer = modern_layer_backward(grad_x, layer_cache)
        grad_layers.insert(0, grad_layer)
    table = embed_backward(grad_x, embedding_cache) + grad_output_table
    return {"table": table, "layers": grad_layers, "norm": grad_norm}


def cosine_rate(done, peak, warmup=0.02, lowest=0.05):
    """The learning rate after a share of the training: up a straight line, then down half a cosine.

    Args:
        done: float from 0 to 1, the share of all steps.
        peak: the highest rate.
        warmup: the share of the steps in which the rate rises.
        lowest: the last rate, as a share of the peak.
    """
    return peak * min(1, done / warmup) * (lowest + (1 - lowest) * (0.5 + 0.5 * math.cos(math.pi * done)))


def definer_step(params, moments, step, tokens, n_heads, rate, decay=0.05, longest=1.0):
    """One step of training: forward, loss, backward, clip, AdamW.

    Args:
        params, moments, step: see `adamw_step`.
        tokens: (N, T), see `padded`.
        n_heads, rate, decay: see `definer_forward` and `adamw_step`.
        longest: see `clip_gradients`.

    Returns:
        params, moments: the new ones.
        loss: float, in nats for each token, before the step.
    """
    logits, cache = definer_forward(params, tokens[:, :-1], n_heads)
    loss, loss_cache = smoothed_cross_entropy(logits, tokens[:, 1:])
    gradients = definer_backward(smoothed_cross_entropy_backward(1.0, loss_cache), cache)
    clipped, _ = clip_gradients(gradients, longest)
    params, moments = adamw_step(params, clipped, moments, step, rate, decay)
    return params, moments, float(loss)


def train(recipe, texts, run=None):
    """Train a model, and pause after each step.

    Args:
        recipe: see RECIPE; size is the number of entries in a batch, and peak the highest learning rate.
        texts: list of lists of integers, the entries to train on.
        run: the run to continue, see `continue_run`; by default the fresh model of the recipe's seed.

    Yields:
        run: the run after a step, see `continue_run`.
        loss: float, before the step.
    """
    if run is None:
        params = fresh_definer(np.random.default_rng(recipe["seed"]), **SIZES)
        run = {"params": params, "moments": zero_moments(params), "step": 0}
    batches = endless_batches(recipe["seed"], texts, recipe["size"])
    for tokens in islice(batches, run["step"], recipe["steps"]):
        step = run["step"] + 1
        rate = cosine_rate(step / recipe["steps"], recipe["peak"])
        params, moments, loss = definer_step(
            run["params"], run["moments"], step, tokens, SIZES["n_heads"], rate, recipe["decay"]
        )
        run = {"params": params, "moments": moments, "step": step}
        yield run, loss


def token_losses(params, tokens, n_heads):
    """The loss of each token after the first, in nats.

    Args:
        params, n_heads: see `definer_forward`.
        tokens: (N, T), see `padded`.

    Returns:
        losses: (N, T - 1), 0 at padding.
    """
    logits, _ = definer_forward(params, tokens[:, :-1], n_heads)
    right = np.take_along_axis(log_softmax(logits), tokens[:, 1:, np.newaxis], axis=-1)[..., 0]
    return np.where(tokens[:, 1:] != PAD, -right, 0)


def mean_loss(params, texts, n_heads=SIZES["n_heads"], size=100):
    """The loss of a token of these texts, in nats. Longer batches take more memory, and no less time."""
    in_order = sorted(texts, key=len)
    batches = (padded(in_order[start : start + size]) for start in range(0, len(texts), size))
    total = sum(float(token_losses(params, tokens, n_heads).sum(dtype=np.float64)) for tokens in batches)
    return total / sum(len(text) + 1 for text in texts)


def main(entries_path, path):
    merges = load_merges(entries_path)
    tokens_of, vocabulary = partial(text_tokens, merges=merges), vocabulary_of(merges)
    texts = {name: numbered(lines, tokens_of, vocabulary) for name, lines in load_entries(entries_path).items()}
    losses, held_out = [], []
    for run, loss in train(RECIPE, texts["known"]):
        losses.append(loss)
        if run["step"] % LOOKED_AT == 0:
            held_out.append(mean_loss(run["params"], texts["held_out"]))
            print(f"step {run['step']}: {np.mean(losses[-LOOKED_AT:]):.3f}, held out {held_out[-1]:.3f}", flush=True)
    curves = {"losses": np.reshape(losses, (-1, LOOKED_AT // 5)).mean(axis=1), "held_out": np.array(held_out)}
    np.savez_compressed(
        path,
        weights=flatten(run["params"]).astype(np.float16),
        **{name: curve.astype(np.float32) for name, curve in curves.items()},
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
