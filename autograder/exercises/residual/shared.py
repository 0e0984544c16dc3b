"""Draw streams, parameters and masks, and call the sub-layers, for the exercises of chapter 5."""

import math

import numpy as np

from solutions import residual as reference
from solutions.dropout import dropout
from solutions.multihead import multi_head_attention


def features(draw):
    """Draw a d_model from 5 to 8. Two numbers would always normalise to 1 and -1, and their gradient would be
    rounding errors."""
    return draw.size(5, 9)


def leading(draw, n_axes):
    """Draw leading axes of different lengths, all shorter than d_model."""
    return draw.sizes(n_axes, low=2, high=5)


def norm_params(draw, d_model, dtype=np.float64):
    """Draw a gain and a bias that differ from the ones and zeros of a fresh norm."""
    gain = draw.rng.uniform(0.5, 2, d_model) * draw.rng.choice([-1, 1], d_model)
    return {"gain": gain.astype(dtype), "bias": draw.normal(d_model, dtype=dtype)}


def feed_forward_params(draw, d_model, dtype=np.float64):
    """Draw parameters in which d_ff is larger than d_model, as in the paper."""
    d_ff = d_model + draw.size(1, 5)
    return {
        "w_in": draw.normal(d_model, d_ff, dtype=dtype),
        "b_in": draw.normal(d_ff, dtype=dtype),
        "w_out": draw.normal(d_ff, d_model, dtype=dtype),
        "b_out": draw.normal(d_model, dtype=dtype),
    }


def to_normalise(draw, n_axes=1, dtype=np.float64):
    d_model = features(draw)
    x = 3 + 2 * draw.normal(*leading(draw, n_axes), d_model)
    return {"x": x.astype(dtype)} | norm_params(draw, d_model, dtype)


def to_think_about(draw, n_axes=1, dtype=np.float64):
    d_model = features(draw)
    x = draw.normal(*leading(draw, n_axes), d_model, dtype=dtype)
    return {"x": x, "params": feed_forward_params(draw, d_model, dtype)}


def generator(draw):
    return np.random.default_rng(int(draw.rng.integers(1_000_000)))


def to_add(draw, n_axes=1, dtype=np.float64):
    d_model = features(draw)
    shape = *leading(draw, n_axes), d_model
    x, update = draw.normal(*shape, dtype=dtype), draw.normal(*shape, dtype=dtype)
    return {"x": x, "update": update, "params": norm_params(draw, d_model, dtype)}


def plain_norm(x, params):
    return reference.layer_norm(x, **params)[0]


def layer_params(draw, d_model, dtype=np.float64):
    names = ("query", "key", "value", "output")
    attention = {f"w_{name}": draw.normal(d_model, d_model) / math.sqrt(d_model) for name in names}
    attention |= {f"b_{name}": draw.normal(d_model) for name in names}
    return {
        "attention": {name: array.astype(dtype) for name, array in attention.items()},
        "norm_attention": norm_params(draw, d_model, dtype),
        "feed_forward": feed_forward_params(draw, d_model, dtype),
        "norm_feed_forward": norm_params(draw, d_model, dtype),
    }


def sentences(draw, n_batch_axes=0, dtype=np.float64):
    """Draw a layer's inputs with 2 or 3 heads, and with sizes that all differ."""
    n_heads, d_head = [(2, 3), (2, 4), (3, 2), (3, 4)][draw.size(0, 4)]
    T, *batch = draw.sizes(1 + n_batch_axes, low=3, high=6)
    x = draw.normal(*batch, T, n_heads * d_head, dtype=dtype)
    return {"x": x, "params": layer_params(draw, n_heads * d_head, dtype), "n_heads": n_heads}


def some_hidden(x, empty=False):
    """Return a causal mask; if `empty`, one row of it hides everything."""
    mask = np.tril(np.ones((x.shape[-2], x.shape[-2]), bool))
    mask[1] &= not empty
    return mask


def attend(x, params, n_heads, mask=None):
    return multi_head_attention(x, x, x, params["attention"], n_heads, mask)[0]


def think(x, params):
    return reference.feed_forward(x, params["feed_forward"])[0]


def row_for_row(x, update, params, rate=0.0, rng=None):
    """Return the output of `add_norm`, normalised one position at a time."""
    total = np.add(dropout(update, rate, rng)[0], x)
    rows = [plain_norm(row, params) for row in total.reshape(-1, total.shape[-1])]
    return np.stack(rows).reshape(total.shape), None


def unit_by_unit(x, params):
    """Return the output of `feed_forward`, one hidden unit after the other."""
    output = np.zeros_like(x) + params["b_out"]
    for unit in range(params["b_in"].size):
        hidden = x @ params["w_in"][:, unit] + params["b_in"][unit]
        output += np.where(hidden > 0, hidden, 0)[..., None] * params["w_out"][unit]
    return output, None


def with_einsum(x, params):
    """Return the output of `feed_forward`, by `np.einsum`."""
    hidden = np.einsum("...d,df->...f", x, params["w_in"]) + params["b_in"]
    return np.einsum("...f,fd->...d", hidden * (hidden > 0), params["w_out"]) + params["b_out"], (x, hidden)
