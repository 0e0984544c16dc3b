"""The mask of the memory. Given code, not an exercise."""

import numpy as np


def memory_mask(source_tokens, target_length, pad):
    """Return what the decoder may see of the source: all of its real tokens.

    Args:
        source_tokens: (..., T_source) integers.
        target_length: int, T_target.
        pad: int, the padding token.

    Returns:
        mask: (..., T_target, T_source) boolean, a row for each position of
            the target, all rows of a sentence alike.

    Source: Vaswani et al. 2017, section 3.2.3, with padding.
    """
    is_word = np.expand_dims(source_tokens != pad, -2)
    return np.repeat(is_word, target_length, axis=-2)
