"""Draw two sequences, and run the decoder layer with some parts replaced, for the exercises of chapter 7."""

import math

import numpy as np

from autograder.exercises.residual.shared import feed_forward_params, norm_params
from solutions.dropout import dropout
from solutions.multihead import multi_head_attention
from solutions.residual import add_norm, feed_forward


def turned(array):
    """Exchange the last two axes; None stays None."""
    return None if array is None else array.swapaxes(-1, -2)


def visible(draw, batch, T, T_memory):
    """Draw a mask that hides different keys from each query, but never the first two."""
    mask = draw.rng.random((*batch, T, T_memory)) < 0.6
    mask[..., :2] = True
    mask[..., 0, -1] = False
    return mask


def two_sequences(draw, n_batch_axes=0, dtype=np.float64, same_width=0, **given):
    """Draw two sequences and their projections. All sizes differ, except those that you give."""
    names = ("T", "T_memory", "d_model", "d_memory", "d_key", "d_value")
    drawn = draw.sizes(6 + n_batch_axes, low=2, high=10)
    size = dict(zip(names, drawn, strict=False)) | given
    if same_width:
        size |= dict.fromkeys(names[2:], same_width)
    batch = tuple(drawn[6:])

    def weight(d_in, d_out):
        return (draw.normal(size[d_in], size[d_out]) / math.sqrt(size[d_in])).astype(dtype)

    return {
        "x": draw.normal(*batch, size["T"], size["d_model"], dtype=dtype),
        "memory": draw.normal(*batch, size["T_memory"], size["d_memory"], dtype=dtype),
        "w_query": weight("d_model", "d_key"),
        "w_key": weight("d_memory", "d_key"),
        "w_value": weight("d_memory", "d_value"),
        "mask": visible(draw, batch, size["T"], size["T_memory"]),
    }


def square(draw, n_batch_axes=0):
    """Draw two sequences of equal length and width, for which some mistakes run that raise an error elsewhere."""
    T = draw.size(4, 7)
    return two_sequences(draw, n_batch_axes, same_width=draw.size(4, 8), T=T, T_memory=T)


def attention_params(draw, d_model, d_memory, dtype=np.float64):
    """Draw all parameters of a multi-head attention between two sequences, including biases."""
    widths = {"query": d_model, "key": d_memory, "value": d_memory, "output": d_model}
    weights = {f"w_{name}": draw.normal(width, d_model) / math.sqrt(width) for name, width in widths.items()}
    weights |= {f"b_{name}": draw.normal(d_model) for name in widths}
    return {name: array.astype(dtype) for name, array in weights.items()}


def with_heads(draw, n_batch_axes=0, dtype=np.float64, masked=False, is_square=False):
    """Draw two sequences and the parameters of several heads. All sizes differ, unless `square`."""
    n_heads, d_head = [(2, 3), (2, 4), (3, 2), (3, 4)][draw.size(0, 4)]
    T, T_memory, *batch = draw.sizes(2 + n_batch_axes, low=3, high=8)
    d_model = n_heads * d_head
    d_memory = d_model if is_square else d_model + draw.size(1, 4)
    T_memory = T if is_square else T_memory
    inputs = {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "memory": draw.normal(*batch, T_memory, d_memory, dtype=dtype),
        "params": attention_params(draw, d_model, d_memory, dtype),
        "n_heads": n_heads,
    }
    return inputs | ({"mask": visible(draw, batch, T, T_memory)} if masked else {})


def thinned(draw, cache):
    """Return the cache of a multi-head attention in which no row of weights adds up to one.

    If they did, the key bias's gradient would be only rounding, and right answers would differ.
    """
    query, key, value, (queries, keys, values, weights), projected = cache
    factors = draw.rng.uniform(0.5, 0.9, (*weights.shape[:-1], 1))
    return query, key, value, (queries, keys, values, (weights * factors).astype(weights.dtype)), projected


def layer_params(draw, d_model, dtype=np.float64):
    """Draw all parameters of a decoder layer; its norms differ from the ones and zeros of fresh norms."""
    return {
        "attention": attention_params(draw, d_model, d_model, dtype),
        "norm_attention": norm_params(draw, d_model, dtype),
        "cross_attention": attention_params(draw, d_model, d_model, dtype),
        "norm_cross_attention": norm_params(draw, d_model, dtype),
        "feed_forward": feed_forward_params(draw, d_model, dtype),
        "norm_feed_forward": norm_params(draw, d_model, dtype),
    }


def to_decode(draw, n_batch_axes=0, dtype=np.float64, masked=False, equally_long=False):
    """Draw a decoder layer's inputs. Both sequences have the width d_model; their lengths differ, unless
    `equally_long`."""
    n_heads, d_head = [(2, 3), (2, 4), (3, 2), (3, 4)][draw.size(0, 4)]
    T, T_memory, *batch = draw.sizes(2 + n_batch_axes, low=3, high=7)
    T_memory = T if equally_long else T_memory
    d_model = n_heads * d_head
    inputs = {
        "x": draw.normal(*batch, T, d_model, dtype=dtype),
        "memory": draw.normal(*batch, T_memory, d_model, dtype=dtype),
        "params": layer_params(draw, d_model, dtype),
        "n_heads": n_heads,
    }
    if masked:
        inputs["self_mask"] = np.tril(np.ones((T, T), bool))
        inputs["memory_mask"] = visible(draw, batch, T, T_memory)
    return inputs


STEPS = ("attention", "cross_attention", "feed_forward")
AS_USUAL: dict[str, str] = {}


def layered(
    x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None, *,
    steps=STEPS, reads=AS_USUAL, weights=AS_USUAL, adds_to=AS_USUAL, norms=AS_USUAL, undropped="",
    queries="x", keys="memory", values="memory", masks=lambda own, over_memory: (own, over_memory),
    add=add_norm, feed=feed_forward, attend=multi_head_attention,
):  # fmt: skip
    """Run the decoder layer with some of its parts replaced.

    reads: sub-layer's name -> the stream that it reads: 0 is x, 1 is the stream after the first Add & Norm, and so on.
    adds_to: name -> the stream to which it adds its output, or "memory". weights: name -> the sub-layer whose weights
    it uses. norms: name -> the sub-layer whose norm it uses, or None. undropped: the sub-layer without dropout.
    queries, keys, values: "x" or "memory", the sources of the cross-attention.
    """
    self_mask, memory_mask = masks(self_mask, memory_mask)
    streams = [x]
    for name in steps:
        x, part = streams[reads.get(name, -1)], params[weights.get(name, name)]
        if name == "feed_forward":
            update, _ = feed(x, part)
        elif name == "attention":
            update, _ = attend(x, x, x, part, n_heads, self_mask)
        else:
            sources = {"x": x, "memory": memory}
            update, _ = attend(sources[queries], sources[keys], sources[values], part, n_heads, memory_mask)
        place, norm, noise = adds_to.get(name, -1), norms.get(name, name), None if name == undropped else rng
        stream = memory if place == "memory" else streams[place]
        if norm is None:
            streams.append(stream + dropout(update, rate, noise)[0])
        else:
            streams.append(add(stream, update, params[f"norm_{norm}"], rate, noise)[0])
    return streams[-1], None
