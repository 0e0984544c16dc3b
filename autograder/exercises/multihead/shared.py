"""Draw a layer and its inputs, and split and merge heads in several ways, for the exercises of chapter 4."""

import math

import numpy as np

from autograder.exercises.masking.masked_softmax import lowest_number_then_zero
from solutions import multihead as reference

PROJECTIONS = ("query", "key", "value")


def turned(array):
    """Exchange the last two axes."""
    return array.swapaxes(-1, -2)


def as_rows(array):
    """Merge all leading axes into one: (..., d) to (n, d)."""
    return array.reshape(-1, array.shape[-1])


def view_split(x, n_heads):
    """Reshape to the right shape without moving an axis."""
    *batch, length, d_model = x.shape
    return x.reshape(*batch, n_heads, length, d_model // n_heads)


def view_merge(heads):
    """Reshape to the right shape without moving an axis."""
    *batch, n_heads, length, d_head = heads.shape
    return heads.reshape(*batch, length, n_heads * d_head)


def interleaved_split(x, n_heads):
    """Give head h features h, h + n_heads, h + 2 n_heads, ..."""
    *batch, length, d_model = x.shape
    return np.moveaxis(x.reshape(*batch, length, d_model // n_heads, n_heads), -1, -3)


def interleaved_merge(heads):
    """Undo `interleaved_split`."""
    *batch, n_heads, length, d_head = heads.shape
    return np.moveaxis(heads, -3, -1).reshape(*batch, length, n_heads * d_head)


def concatenated(heads):
    """Merge the heads by concatenating them."""
    return np.concatenate(list(np.moveaxis(heads, -3, 0)), axis=-1)


def misread_split(x, n_heads):
    """Split in the order (n_heads, batch), but read the axes as (batch, n_heads)."""
    heads = np.moveaxis(reference.split_heads(x, n_heads), -3, 0)
    return heads.reshape(*x.shape[:-2], n_heads, *heads.shape[-2:])


def misread_merge(heads):
    """Merge as if the axes (batch, n_heads) were (n_heads, batch)."""
    *batch, n_heads, length, d_head = heads.shape
    misread = heads.reshape(n_heads, *batch, length, d_head)
    return reference.merge_heads(np.moveaxis(misread, 0, -3))


def layer(draw, batch=(), dtype=np.float64, square=0, mask=None, **sizes):
    """Draw inputs and parameters of the layer. All sizes differ, except those that you give; `square` makes all widths
    equal.

    mask: None, "shared" or "each": one for all sentences, or one for each. Row 0 of the queries sees at least two keys,
        so that its scores matter, and row 1 sees nothing.
    """
    names = ("T_query", "T_key", "n_heads", "d_key", "d_value")
    free = [n for n in draw.sizes(6, low=3 if mask else 2, high=8) if n not in sizes.values()]
    size = dict(zip([name for name in names if name not in sizes], free, strict=False)) | sizes
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
    # Dividing by the root of the width gives scores of about 1, so that no softmax saturates.
    params = {
        name: draw.normal(*shape, dtype=dtype) / math.sqrt(shape[0] if len(shape) == 2 else 1)
        for name, shape in shapes.items()
    }
    inputs |= {"params": params, "n_heads": n_heads}
    if mask:
        allowed = draw.rng.random((*(batch if mask == "each" else ()), *lengths[:2])) < 0.6
        allowed[..., 0, :3] = True, False, True
        allowed[..., 1, :] = False
        inputs["mask"] = allowed
    return inputs


def small_batch(draw, n_axes, avoid):
    """Draw small leading sizes that differ from the number of heads."""
    return tuple([n for n in draw.sizes(4, low=2, high=6) if n != avoid][:n_axes])


def projected_heads(query, key, value, params, n_heads):
    """Return the queries, keys and values of all heads."""
    inputs = zip(PROJECTIONS, (query, key, value), strict=True)
    return [reference.split_heads(x @ params[f"w_{name}"] + params[f"b_{name}"], n_heads) for name, x in inputs]


def naive(
    query, key, value, params, n_heads, mask=None, *,
    change=lambda params, n_heads: params, split=reference.split_heads, merge=reference.merge_heads, d_scale=None,
    scale_late=False, biases=PROJECTIONS, share_keys=False, output_bias=True,
    expand=lambda mask: np.expand_dims(np.atleast_2d(mask), -3), weigh=lowest_number_then_zero,
):  # fmt: skip
    """Run the layer with one of its parts replaced.

    change: from the parameters and the number of heads to changed parameters. d_scale: a function of the split keys and
    values that returns the number under the root; d_key if None. expand: gives a mask an axis for the heads. weigh: a
    masked softmax.
    """
    params = params | change(params, n_heads)
    projected = [
        x @ params[f"w_{name}"] + (params[f"b_{name}"] if name in biases else 0)
        for name, x in zip(PROJECTIONS, (query, key, value), strict=True)
    ]
    queries, keys, values = (split(x, n_heads) for x in projected)
    keys = np.broadcast_to(keys[..., :1, :, :], keys.shape) if share_keys else keys
    scale = math.sqrt(d_scale(keys, values) if d_scale else keys.shape[-1])
    scores = queries @ turned(keys) / (1 if scale_late else scale)
    mask = np.ones((1, 1), bool) if mask is None else expand(mask)
    output = merge(weigh(scores, mask) @ values) @ params["w_output"] + (params["b_output"] if output_bias else 0)
    return output / (scale if scale_late else 1), None


def grouped_heads(draw, n_batch_axes=0, dtype=np.float64, *, n_heads, n_groups):
    """Draw queries of all heads, and keys and values of all groups. All sizes differ from each other and from the
    numbers of heads and groups."""
    sizes = [n for n in draw.sizes(8, high=10) if n not in (n_heads, n_groups)]
    T_query, T_key, d_key, d_value, *batch = sizes[: 4 + n_batch_axes]
    return {
        "queries": draw.normal(*batch, n_heads, T_query, d_key, dtype=dtype),
        "keys": draw.normal(*batch, n_groups, T_key, d_key, dtype=dtype),
        "values": draw.normal(*batch, n_groups, T_key, d_value, dtype=dtype),
    }


# Name of a case -> the options of `grouped_heads`.
GROUPS = {
    "six heads, two groups": {"n_heads": 6, "n_groups": 2},
    "six heads, three groups": {"n_heads": 6, "n_groups": 3},
    "one batch axis": {"n_batch_axes": 1, "n_heads": 4, "n_groups": 2},
    "two batch axes": {"n_batch_axes": 2, "n_heads": 4, "n_groups": 2},
}
BOTH_ENDS = {
    "as many groups as heads: multi-head": {"n_batch_axes": 1, "n_heads": 3, "n_groups": 3},
    "one group: multi-query": {"n_batch_axes": 1, "n_heads": 3, "n_groups": 1},
    "a single head": {"n_heads": 1, "n_groups": 1},
    "float32": {"n_heads": 4, "n_groups": 2, "dtype": np.float32},
}


def tiled(shared, times):
    """Repeat the whole list of heads: head h of the result is head h % n_groups."""
    return np.concatenate([shared] * times, axis=-3)
