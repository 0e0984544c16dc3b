"""RMSNorm, whose backward pass is an exercise of chapter 5. Given code, not an exercise."""

import numpy as np


def rms_norm(x, gain, eps=1e-5):
    """Bring each row to mean square one, then stretch.

    Args:
        x: (..., d_model)
        gain: (d_model,)
        eps: float, added to the mean square, inside the root.

    Returns:
        output: (..., d_model), in the dtype of x.
        cache: (normalised, inverse_rms, gain); normalised: (..., d_model),
            inverse_rms: (..., 1), one over the root of mean square plus eps.

    Source: Zhang & Sennrich 2019 (arXiv 1910.07467).
    """
    inverse_rms = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    normalised = x * inverse_rms
    return normalised * gain, (normalised, inverse_rms, gain)
