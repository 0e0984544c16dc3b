"""Smoothed labels. Given code, not an exercise."""

import numpy as np


def smooth_labels(targets, vocab, smoothing):
    """One-hot labels, softened: every class gets a share of `smoothing`.

    Args:
        targets: (...), integers in 0 .. vocab - 1.
        vocab: number of classes, K.
        smoothing: eps, from 0 (one-hot) to 1 (uniform).

    Returns:
        labels: (..., vocab), float64, rows adding up to one: the right
            class has 1 - eps + eps / K, every other eps / K.

    Source: Szegedy et al. 2016, section 7; Vaswani et al. 2017, section
    5.4. The right class also gets its share of `smoothing`, as in PyTorch.
    """
    labels = np.full((*targets.shape, vocab), smoothing / vocab)
    np.put_along_axis(labels, targets[..., None], 1 - smoothing + smoothing / vocab, axis=-1)
    return labels
