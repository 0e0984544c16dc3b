"""What the exercises of chapter 7 share: two sequences to draw, and the decoder layer with exchangeable parts."""

import math

import numpy as np

from autograder.exercises.residual.shared import feed_forward_params, norm_params
from solutions.multihead import multi_head_attention
from solutions.residual import add_norm, feed_forward


def turned(array):
    """The last two axes exchanged; None stays None."""
    return None if array is None else array.swapaxes(-1, -2)


def visible(draw, batch, T, T_memory):
    """A mask in which most may be seen, another part in every row, and by every query the first two."""
    mask = draw.rng.random((*batch, T, T_memory)) < 0.6
    mask[..., :2] = True
    mask[..., 0, -1] = False
    return mask


def two_sequences(draw, n_batch_axes=0, dtype=np.float64, same_width=0, **given):
    """Two sequences and their projections; no two sizes alike unless given."""
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
    """Both sequences equally long and wide, where some mistakes run that elsewhere stop with an error."""
    T = draw.size(4, 7)
    return two_sequences(draw, n_batch_axes, same_width=draw.size(4, 8), T=T, T_memory=T)


def attention_params(draw, d_model, d_memory, dtype=np.float64):
    """Parameters of a multi-head attention between two sequences, biases and all."""
    widths = {"query": d_model, "key": d_memory, "value": d_memory, "output": d_model}
    weights = {f"w_{name}": draw.normal(width, d_model) / math.sqrt(width) for name, width in widths.items()}
    weights |= {f"b_{name}": draw.normal(d_model) for name in widths}
    return {name: array.astype(dtype) for name, array in weights.items()}


def with_heads(draw, n_batch_axes=0, dtype=np.float64, masked=False, is_square=False):
    """Two sequences and the parameters of several heads; no two sizes alike, unless square."""
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
    """The cache of a multi-head attention whose rows of weights do not quite add up to one.

    With rows that do, the key bias's gradient is zero but for rounding, and no two right answers agree on it.
    """
    query, key, value, (queries, keys, values, weights), projected = cache
    factors = draw.rng.uniform(0.5, 0.9, (*weights.shape[:-1], 1))
    return query, key, value, (queries, keys, values, (weights * factors).astype(weights.dtype)), projected


def layer_params(draw, d_model, dtype=np.float64):
    """All parameters of a decoder layer; its norms have left their fresh ones and zeros."""
    return {
        "attention": attention_params(draw, d_model, d_model, dtype),
        "norm_attention": norm_params(draw, d_model, dtype),
        "cross_attention": attention_params(draw, d_model, d_model, dtype),
        "norm_cross_attention": norm_params(draw, d_model, dtype),
        "feed_forward": feed_forward_params(draw, d_model, dtype),
        "norm_feed_forward": norm_params(draw, d_model, dtype),
    }


def to_decode(draw, n_batch_axes=0, dtype=np.float64, masked=False, equally_long=False):
    """A decoder layer's inputs; d_model is that of both sequences, and their lengths differ unless asked."""
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


STEPS = (("attention", "x"), ("cross_attention", "memory"), ("feed_forward", None))


def layered(
    x, memory, params, n_heads, self_mask=None, memory_mask=None, rate=0.0, rng=None, *,
    steps=STEPS, norms=None, add=add_norm, keys="memory", values="memory",
    feed=feed_forward, attend=multi_head_attention,
):  # fmt: skip
    """The decoder layer, with another order, other norms (by the sub-layer's name), or other sources."""
    norms = norms or {}
    for name, _ in steps:
        if name == "feed_forward":
            update, _ = feed(x, params[name])
        elif name == "attention":
            update, _ = attend(x, x, x, params[name], n_heads, self_mask)
        else:
            sources = {"x": x, "memory": memory}
            update, _ = attend(x, sources[keys], sources[values], params[name], n_heads, memory_mask)
        x, _ = add(x, update, params[f"norm_{norms.get(name, name)}"], rate, rng)
    return x, None
