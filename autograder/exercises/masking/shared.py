"""Draw sentences and masks for the exercises of chapter 3."""

import numpy as np


def sentences(draw, *shape, pad=0):
    """Draw tokens whose rows begin with a real token and end in padding."""
    tokens = draw.tokens(*shape)
    if pad:
        tokens = np.where(tokens == pad, 0, tokens)
    lengths = np.array(draw.rng.integers(1, shape[-1], size=shape[:-1]))
    return np.where(np.arange(shape[-1]) < lengths[..., None], tokens, pad)


def token_cases(draw):
    """Yield padded sentences without a batch axis, with one, and with two."""
    yield "one sentence", {"tokens": sentences(draw, draw.size(3, 8)), "pad": 0}
    n_batch, T = draw.sizes(2, low=3)
    yield "a batch", {"tokens": sentences(draw, n_batch, T), "pad": 0}
    yield "two batch axes", {"tokens": sentences(draw, 2, n_batch, T), "pad": 0}


def token_edge_cases(draw):
    """Yield sentences with other padding tokens, with nothing but padding, and without padding."""
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
    """Draw a mask that allows about half of the entries. Each row has an allowed and a hidden entry, or a single
    allowed entry."""
    mask = draw.rng.random(shape) < 0.5
    rows = mask.reshape(-1, shape[-1])
    for row in rows:
        some, other = draw.rng.permutation(shape[-1])[:2] if shape[-1] > 1 else (0, 0)
        row[other], row[some] = False, True
    return mask


def with_single_key(mask):
    """Return the mask with only the first key allowed in its first row; the weight of this key is exactly 1."""
    mask = mask.copy()
    mask[..., 0, :] = np.arange(mask.shape[-1]) == 0
    return mask


def with_empty_row(mask):
    """Return the mask with nothing allowed in its second row, or in its only row."""
    mask = mask.copy()
    mask[..., min(1, mask.shape[-2] - 1), :] = False
    return mask


def zero_if_empty(weights, mask):
    """Replace NaN and made-up weights by zeros in the rows in which nothing is allowed."""
    return np.where(np.broadcast_to(mask.any(axis=-1, keepdims=True), weights.shape), weights, 0)
