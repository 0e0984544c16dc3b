"""Rotary positions, for the cache of chapter 8. Given code, not an exercise."""

import numpy as np


def rotate(x, positions):
    """Rotary positions: turn each pair of columns by an angle that grows with the position.

    Columns 2i and 2i + 1 of a row at position p turn by p / 10000^(2i / d_key).

    Args:
        x: (..., T, d_key), queries or keys, d_key even.
        positions: (T,), integers, where the rows stand in the text.

    Returns:
        rotated: (..., T, d_key), in the dtype of x.

    Source: Su et al. 2021, section 3.2.
    """
    d_key = x.shape[-1]
    angles = positions[:, np.newaxis] * 10000.0 ** (-np.arange(0, d_key, 2) / d_key)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)
