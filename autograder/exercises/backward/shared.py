"""What the exercises of chapter 2 share: arrays turned, flattened and shifted."""

import numpy as np


def turned(array):
    """The last two axes exchanged."""
    return array.swapaxes(-1, -2)


def as_rows(array):
    """All leading axes folded into one: (..., d) to (n, d)."""
    return array.reshape(-1, array.shape[-1])


def shifted(array):
    """The array with its first axis moved on by one place: item b holds what belongs to item b - 1."""
    return np.roll(array, 1, axis=0)
