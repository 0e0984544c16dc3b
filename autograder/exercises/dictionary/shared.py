"""Draw gates, layers and pieces of words for several exercises of chapter 12."""

import numpy as np

from solutions.definer_parameters import fresh_definer
from solutions.parameters import map_tree

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def gate_params(draw, d_model, dtype=np.float64):
    """Draw the three matrices of a gated feed-forward, whose wide rows are wider than its narrow ones."""
    d_ff = d_model + draw.size(1, 4)
    shapes = {"w_gate": (d_model, d_ff), "w_up": (d_model, d_ff), "w_down": (d_ff, d_model)}
    return {name: draw.normal(*shape, dtype=dtype) for name, shape in shapes.items()}


def gated(draw, n_axes=1, dtype=np.float64):
    """Draw the arguments of `swiglu`."""
    *leading, d_model = (*draw.sizes(n_axes, low=2, high=4), draw.size(4, 7))
    return {"x": draw.normal(*leading, d_model, dtype=dtype), "params": gate_params(draw, d_model, dtype)}


def layer(draw, n_batch_axes=0, dtype=np.float64, n_heads=6, n_groups=3):
    """Draw the arguments of `modern_layer`. Each head has four features, so that there are two pairs to turn."""
    T, *batch = draw.sizes(1 + n_batch_axes, low=3, high=6)
    d_model = 4 * n_heads
    sizes = {"vocab": 1, "d_model": d_model, "d_ff": d_model + draw.size(1, 5), "n_layers": 1}
    fresh = fresh_definer(draw.rng, **sizes, n_heads=n_heads, n_groups=n_groups, dtype=np.float64)["layers"][0]
    params = map_tree(lambda array: (array + 0.3 * draw.normal(*array.shape)).astype(dtype), fresh)
    return {"x": draw.normal(*batch, T, d_model, dtype=dtype), "params": params, "n_heads": n_heads}


def spelled(draw, words):
    """Return the texts with other small letters, in the same alphabetical order, so that ties break as before."""
    old = sorted({letter for word in words for letter in word if letter in LETTERS})
    new = sorted(draw.rng.choice(list(LETTERS), len(old), replace=False))
    return [word.translate(str.maketrans(dict(zip(old, new, strict=True)))) for word in words]
