"""Attention with a mask, around the masked softmax of chapter 3. Given code, not an exercise."""

import math

from solutions.masking import masked_softmax


def masked_attention(queries, keys, values, mask):
    """Attention in which a query sees only the keys that its mask allows.

    Args:
        queries: (..., T_query, d_key)
        keys: (..., T_key, d_key)
        values: (..., T_key, d_value)
        mask: boolean, broadcastable to (..., T_query, T_key),
            True = may attend.

    Returns:
        output: (..., T_query, d_value), in the dtype of the inputs; zero
            for a query that may attend to nothing.
        cache: (queries, keys, values, weights), as `attention` keeps it.

    Raises:
        ValueError: queries and keys differ in their last axis.

    Source: Vaswani et al. 2017, section 3.2.1 and figure 2: scale, mask,
    softmax, in this order.
    """
    scores = queries @ keys.swapaxes(-1, -2) / math.sqrt(keys.shape[-1])
    weights = masked_softmax(scores, mask)
    return weights @ values, (queries, keys, values, weights)
