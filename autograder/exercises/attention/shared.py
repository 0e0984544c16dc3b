"""Draw queries, keys and values, and compute their scores, for the exercises of chapter 1."""

import numpy as np


def roles(draw, n_batch_axes=0, dtype=np.float64):
    """Draw queries, keys and values whose sizes all differ."""
    T_query, T_key, d_key, d_value, *batch = draw.sizes(4 + n_batch_axes)
    return {
        "queries": draw.normal(*batch, T_query, d_key, dtype=dtype),
        "keys": draw.normal(*batch, T_key, d_key, dtype=dtype),
        "values": draw.normal(*batch, T_key, d_value, dtype=dtype),
    }


def unequal(draw, queries_narrow):
    """Draw queries and keys that do not fit, although one of their widths is 1 and would broadcast."""
    T_query, T_key, d_key = draw.sizes(3)
    narrow, wide = draw.normal(T_query, 1), draw.normal(T_key, d_key)
    return {"queries": narrow, "keys": wide} if queries_narrow else {"queries": wide, "keys": narrow}


def without(inputs, size_one):
    """Return the inputs with one of their sizes cut down to 1: T_query, T_key or d_key."""
    q, k, v = inputs["queries"], inputs["keys"], inputs.get("values")
    if size_one == "T_query":
        q = q[..., :1, :]
    elif size_one == "T_key":
        k, v = k[..., :1, :], v if v is None else v[..., :1, :]
    else:
        q, k = q[..., :1], k[..., :1]
    return {"queries": q, "keys": k} if v is None else {"queries": q, "keys": k, "values": v}


def scores_of(queries, keys):
    """Return the unscaled scores."""
    return queries @ keys.swapaxes(-1, -2)
