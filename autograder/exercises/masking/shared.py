"""What the exercises of chapter 3 share: sentences and masks to draw."""

import math

import numpy as np

PENALTIES = (-1e9, -1e4, -1e5, -1e6, -1e8, -1e10, -1e12)  # numbers that people add to hidden scores


def sentences(draw, *shape, pad=0):
    """Tokens whose rows begin with a real token and end in padding."""
    tokens = draw.tokens(*shape)
    if pad:
        tokens = np.where(tokens == pad, 0, tokens)
    lengths = np.array(draw.rng.integers(1, shape[-1], size=shape[:-1]))
    return np.where(np.arange(shape[-1]) < lengths[..., None], tokens, pad)


def token_cases(draw):
    """Sentences without, with one and with two batch axes, in all of which some rows end in padding."""
    yield "one sentence", {"tokens": sentences(draw, draw.size(3, 8)), "pad": 0}
    n_batch, T = draw.sizes(2, low=3)
    yield "a batch", {"tokens": sentences(draw, n_batch, T), "pad": 0}
    yield "two batch axes", {"tokens": sentences(draw, 2, n_batch, T), "pad": 0}


def token_edge_cases(draw):
    """Other paddings, and sentences that are all padding or have none."""
    T = draw.size(3, 8)
    yield "another padding token", {"tokens": sentences(draw, 2, T, pad=9), "pad": 9}
    yield "a negative padding token", {"tokens": sentences(draw, 2, T, pad=-1), "pad": -1}
    yield "no padding at all", {"tokens": draw.tokens(2, T), "pad": 0}
    tokens = draw.tokens(2, T)
    tokens[1] = 0
    yield "a sentence of padding alone", {"tokens": tokens, "pad": 0}
    yield "one token", {"tokens": draw.tokens(3, 1), "pad": 0}
    tokens = draw.tokens(2, T)
    tokens[:, 0] = 0
    yield "padding on the left", {"tokens": tokens, "pad": 0}


def random_mask(draw, *shape):
    """About half allowed; each row has an allowed entry and, unless it has only one, a hidden one."""
    mask = draw.rng.random(shape) < 0.5
    rows = mask.reshape(-1, shape[-1])
    for row in rows:
        some, other = draw.rng.permutation(shape[-1])[:2] if shape[-1] > 1 else (0, 0)
        row[other], row[some] = False, True
    return mask


def with_empty_row(mask):
    """The mask with nothing allowed in its second row (its only row, if it has one)."""
    mask = mask.copy()
    mask[..., min(1, mask.shape[-2] - 1), :] = False
    return mask


def zero_if_empty(weights, mask):
    """The weights, with zeros in the rows in which nothing is allowed: what is left of NaN or of made-up weights."""
    return np.where(np.broadcast_to(mask.any(axis=-1, keepdims=True), weights.shape), weights, 0)


def roles(draw, n_batch_axes=0, dtype=np.float64, **given):
    """Queries, keys, values and a mask in which no two sizes agree, unless they are given."""
    names = ("T_query", "T_key", "d_key", "d_value")
    T_query, T_key, d_key, d_value = (dict(zip(names, draw.sizes(4, low=3, high=9), strict=True)) | given).values()
    batch = [2, 3][:n_batch_axes] if n_batch_axes < 2 else [2, 2]
    return {
        "queries": draw.normal(*batch, T_query, d_key, dtype=dtype),
        "keys": draw.normal(*batch, T_key, d_key, dtype=dtype),
        "values": draw.normal(*batch, T_key, d_value, dtype=dtype),
        "mask": random_mask(draw, *batch, T_query, T_key),
    }


def scaled_scores(queries, keys):
    """The scores before any mask."""
    return queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1])
