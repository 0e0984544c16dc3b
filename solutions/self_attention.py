"""Self-attention, around the attention of chapter 1. Given code, not an exercise."""

from solutions.attention import attention


def self_attention(x, w_query, w_key, w_value):
    """Attention of a sequence to itself, in three projections.

    Args:
        x: (..., T, d_model)
        w_query: (d_model, d_key)
        w_key: (d_model, d_key)
        w_value: (d_model, d_value)

    Returns:
        output: (..., T, d_value), finite however large the scores, in the
            dtype of x.
        cache: (x, w_query, w_key, w_value, attention_cache).

    Raises:
        ValueError: w_query and w_key differ in their last axis.

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    output, attention_cache = attention(x @ w_query, x @ w_key, x @ w_value)
    return output, (x, w_query, w_key, w_value, attention_cache)
