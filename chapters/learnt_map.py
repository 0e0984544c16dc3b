"""Compute where each head of the trained translator looks, for a picture in chapter 4, with only NumPy.

Chapter 4 is released before the model is explained, so this file uses nothing of `solutions`. It reads the parameters
of translator.npz (32 features, four heads, one layer on each side) and makes one pass with the right translation.
"""

import math

import numpy as np

N_HEADS, D_HEAD = 4, 8
WIDTH = N_HEADS * D_HEAD


def cross_attention(path, source, target):
    """Return each head's attention over the source, in the decoder.

    Args:
        path: of translator.npz.
        source, target: lists of token numbers; the target begins with the begin mark and lacks the end mark.

    Returns:
        weights: (n_heads, len(target), len(source)); row t belongs to the token that is written after target[t].
    """
    with np.load(path) as file:
        model = dict(file)
    stream = _embedded(model, source)
    stream, _ = _attended(model, "encoder.0", "attention", stream, stream)
    memory = _fed_forward(model, "encoder.0", stream)
    stream = _embedded(model, target)
    future = np.triu(np.full((len(target), len(target)), -np.inf), 1)
    stream, _ = _attended(model, "decoder.0", "attention", stream, stream, future)
    _, weights = _attended(model, "decoder.0", "cross_attention", stream, memory)
    return weights


def _embedded(model, tokens):
    speeds = 10_000.0 ** (-np.arange(WIDTH // 2) / (WIDTH // 2))
    angles = np.outer(np.arange(len(tokens)), speeds)
    clocks = np.dstack([np.sin(angles), np.cos(angles)]).reshape(len(tokens), WIDTH)
    return math.sqrt(WIDTH) * model["embeddings.shared"][tokens] + clocks


def _attended(model, layer, name, stream, others, hidden=0.0):
    """The result of attention, sum and norm: the new stream, and the weights (n_heads, T, T_others)."""

    def projected(x, role):
        return x @ model[f"{layer}.{name}.w_{role}"] + model[f"{layer}.{name}.b_{role}"]

    queries, keys, values = (
        projected(x, role).reshape(-1, N_HEADS, D_HEAD)
        for x, role in ((stream, "query"), (others, "key"), (others, "value"))
    )
    exponentials = np.exp(np.einsum("qhd,khd->hqk", queries, keys) / math.sqrt(D_HEAD) + hidden)
    weights = exponentials / exponentials.sum(axis=2, keepdims=True)
    outputs = np.einsum("hqk,khd->qhd", weights, values).reshape(-1, WIDTH)
    return _normalised(model, f"{layer}.norm_{name}", stream + projected(outputs, "output")), weights


def _fed_forward(model, layer, stream):
    name = f"{layer}.feed_forward"
    inner = (stream @ model[f"{name}.w_in"] + model[f"{name}.b_in"]).clip(0)
    return _normalised(
        model, f"{layer}.norm_feed_forward", stream + inner @ model[f"{name}.w_out"] + model[f"{name}.b_out"]
    )


def _normalised(model, name, rows):
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    return model[f"{name}.gain"] * centred / spread + model[f"{name}.bias"]
