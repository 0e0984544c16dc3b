"""What the exercises of chapter 4 share: a layer's inputs to draw, and ways to split and to merge heads."""

import math

import numpy as np

PROJECTIONS = ("query", "key", "value")


def turned(array):
    """The last two axes exchanged."""
    return array.swapaxes(-1, -2)


def as_rows(array):
    """All leading axes folded into one: (..., d) to (n, d)."""
    return array.reshape(-1, array.shape[-1])


def view_split(x, n_heads):
    """Reshaped to the right shape, without moving an axis."""
    *batch, length, d_model = x.shape
    return x.reshape(*batch, n_heads, length, d_model // n_heads)


def view_merge(heads):
    """Reshaped to the right shape, without moving an axis."""
    *batch, n_heads, length, d_head = heads.shape
    return heads.reshape(*batch, length, n_heads * d_head)


def interleaved_split(x, n_heads):
    """Head h takes features h, h + n_heads, h + 2 n_heads, ..."""
    *batch, length, d_model = x.shape
    return np.moveaxis(x.reshape(*batch, length, d_model // n_heads, n_heads), -1, -3)


def interleaved_merge(heads):
    """The inverse of `interleaved_split`."""
    *batch, n_heads, length, d_head = heads.shape
    return np.moveaxis(heads, -3, -1).reshape(*batch, length, n_heads * d_head)


def layer(draw, batch=(), dtype=np.float64, square=0, mask=None, **sizes):
    """Inputs and parameters of the layer. No two sizes agree unless given, or unless all widths are `square`.

    mask: None, "shared" or "each": one for all sentences, or one for each; row 1 of the queries sees nothing.
    """
    names = ("T_query", "T_key", "n_heads", "d_key", "d_value")
    size = dict(zip(names, draw.sizes(5, high=8), strict=True)) | sizes
    n_heads = size["n_heads"]
    *widths, d_model = [square] * 4 if square else draw.sizes(4, low=8, high=14)
    d_key, d_value = (square // n_heads,) * 2 if square else (size["d_key"], size["d_value"])
    outs = dict(zip(PROJECTIONS, (n_heads * d_key, n_heads * d_key, n_heads * d_value), strict=True))
    lengths = (size["T_query"], size["T_key"], size["T_key"])
    inputs = {
        name: draw.normal(*batch, length, width, dtype=dtype)
        for name, length, width in zip(PROJECTIONS, lengths, widths, strict=True)
    }
    shapes = {f"w_{name}": (width, outs[name]) for name, width in zip(PROJECTIONS, widths, strict=True)}
    shapes |= {"w_output": (outs["value"], d_model)}
    shapes |= {f"b_{name}": (n,) for name, n in outs.items()} | {"b_output": (d_model,)}
    # Divided by the root of the width: scores of size one, so that no softmax is saturated.
    params = {
        name: draw.normal(*shape, dtype=dtype) / math.sqrt(shape[0] if len(shape) == 2 else 1)
        for name, shape in shapes.items()
    }
    inputs |= {"params": params, "n_heads": n_heads}
    if mask:
        allowed = draw.rng.random((*(batch if mask == "each" else ()), *lengths[:2])) < 0.6
        allowed[..., 0, :2] = True, False
        allowed[..., 1, :] = False
        inputs["mask"] = allowed
    return inputs


def small_batch(draw, n_axes, avoid):
    """Small leading sizes, none of them the number of heads."""
    return tuple([n for n in draw.sizes(4, low=2, high=6) if n != avoid][:n_axes])
