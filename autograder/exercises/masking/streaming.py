"""Draw inputs and compute the scores of a block of keys, for the exercises on attention in blocks."""

import numpy as np

from solutions.attention import scaled_scores

NAMES = ("T_query", "T_key", "d_key", "d_value")


def stream(draw, batch=(), size=2, causal=False, dtype=np.float64, **given):
    """Draw queries, keys and values, and set the size of the blocks. All sizes differ, except those that you give."""
    sizes = dict(zip(NAMES, draw.sizes(4, low=3, high=9), strict=True)) | given
    if causal:
        sizes["T_query"] = sizes["T_key"]
    return {
        "queries": draw.normal(*batch, sizes["T_query"], sizes["d_key"], dtype=dtype),
        "keys": draw.normal(*batch, sizes["T_key"], sizes["d_key"], dtype=dtype),
        "values": draw.normal(*batch, sizes["T_key"], sizes["d_value"], dtype=dtype),
        "size": size,
        "causal": causal,
    }


def block_of_scores(queries, keys, start, size, causal, first=None):
    """Return the scores of a block of keys. first: the position of its first key, if it is not `start`."""
    scores = scaled_scores(queries, keys[..., start : start + size, :])
    columns = np.arange(scores.shape[-1]) + (start if first is None else first)
    seen = columns <= np.arange(scores.shape[-2])[:, None]
    return np.where(seen | (not causal), scores, -np.inf)


def all_scores(queries, keys, causal):
    """Return the scores of all keys at once."""
    return block_of_scores(queries, keys, 0, keys.shape[-2], causal)
