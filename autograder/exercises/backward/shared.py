"""Transpose, flatten and shift arrays, for the exercises of chapter 2."""

import numpy as np


def turned(array):
    """Exchange the last two axes."""
    return array.swapaxes(-1, -2)


def as_rows(array):
    """Merge all leading axes into one: (..., d) to (n, d)."""
    return array.reshape(-1, array.shape[-1])


def shifted(array):
    """Shift the first axis by one place: item b then holds what belongs to item b - 1."""
    return np.roll(array, 1, axis=0)
