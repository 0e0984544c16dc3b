"""fused_projection: its cases, its known mistakes and its right rewrites."""

import numpy as np

from autograder.authoring.exercise import Exercise
from solutions import multihead as reference

fused_projection = Exercise(
    reference.fused_projection,
    outputs={"queries": "... T d_model", "keys": "... T d_model", "values": "... T d_model"},
    section="Three projections in one",
)


def fused(draw, n_batch_axes=0, dtype=np.float64, **sizes):
    """Inputs of the fused projection, no two sizes alike unless given."""
    drawn = draw.sizes(2 + n_batch_axes)
    size = dict(zip(("T", "d_model"), drawn, strict=False)) | sizes
    d_model = size["d_model"]
    return {
        "x": draw.normal(*drawn[2:], size["T"], d_model, dtype=dtype),
        "w_fused": draw.normal(d_model, 3 * d_model, dtype=dtype),
        "b_fused": draw.normal(3 * d_model, dtype=dtype),
    }


@fused_projection.cases("the idea", points=1)
def _(draw):
    yield "one sentence", fused(draw)
    yield "three words, three features", fused(draw, T=3, d_model=3)


@fused_projection.cases("batches and float32", points=1)
def _(draw):
    yield "one batch axis", fused(draw, 1)
    yield "two batch axes", fused(draw, 2)
    yield "float32", fused(draw, 1, dtype=np.float32)


@fused_projection.mistake("unpacks keys before queries")
def keys_first(x, w_fused, b_fused):
    """Your first third is taken for the keys. The packing is query, key, value. Exchanged *twice*, here and later in
    the scores, it goes unnoticed (a lecture notebook does so), until somebody mends one of the two."""
    queries, keys, values = reference.fused_projection(x, w_fused, b_fused)
    return keys, queries, values


@fused_projection.mistake("unpacks values before keys")
def values_second(x, w_fused, b_fused):
    """Your second third is taken for the values. The packing is query, key, value."""
    queries, keys, values = reference.fused_projection(x, w_fused, b_fused)
    return queries, values, keys


@fused_projection.mistake("unpacks the thirds backwards")
def values_first(x, w_fused, b_fused):
    """Your first third is taken for the values, and the last for the queries. The packing is query, key, value."""
    return reference.fused_projection(x, w_fused, b_fused)[::-1]


@fused_projection.mistake("takes every third feature")
def every_third(x, w_fused, b_fused):
    """You take features 0, 3, 6, ... for the queries. The three matrices stand beside each other as blocks: the first
    d_model columns make the queries."""
    projected = x @ w_fused + b_fused
    return projected[..., 0::3], projected[..., 1::3], projected[..., 2::3]


@fused_projection.mistake("reshapes without moving an axis", reread="Why a reshape alone will not do")
def thirds_of_the_array(x, w_fused, b_fused):
    """The product is reshaped to (3, ..., T, d_model), which cuts the *positions* in three. Split the last axis, then
    move the three to the front."""
    return tuple((x @ w_fused + b_fused).reshape(3, *x.shape))


@fused_projection.mistake("leaves out the bias")
def fused_without_bias(x, w_fused, b_fused):
    """b_fused is missing. A fresh nn.MultiheadAttention has zeros there, so a comparison with a fresh layer passes."""
    return reference.fused_projection(x, w_fused, np.zeros_like(b_fused))


@fused_projection.mistake("returns the product in one piece")
def in_one_piece(x, w_fused, b_fused):
    """The product is right, and still in one piece of width 3 * d_model. Take it apart along the last axis, into
    queries, keys and values."""
    return x @ w_fused + b_fused


@fused_projection.equivalent
def three_products(x, w_fused, b_fused):
    weights, biases = np.split(w_fused, 3, axis=1), np.split(b_fused, 3)
    return tuple(x @ weight + bias for weight, bias in zip(weights, biases, strict=True))


@fused_projection.equivalent
def by_einsum(x, w_fused, b_fused):
    d_model = x.shape[-1]
    projected = np.einsum("...i,irj->r...j", x, w_fused.reshape(d_model, 3, d_model))
    return tuple(part + bias for part, bias in zip(projected, b_fused.reshape(3, -1), strict=True))


@fused_projection.equivalent
def split_then_moved(x, w_fused, b_fused):
    projected = (x @ w_fused + b_fused).reshape(*x.shape[:-1], 3, -1)
    return list(np.moveaxis(projected, -2, 0))


@fused_projection.equivalent
def one_array_of_three(x, w_fused, b_fused):
    return np.stack(reference.fused_projection(x, w_fused, b_fused))
