"""Put the heads of multi-head attention side by side. Given code, not an exercise."""


def merge_heads(heads):
    """Put the heads side by side again, which undoes `split_heads`.

    Args:
        heads: (..., n_heads, T, d_head)

    Returns:
        x: (..., T, n_heads * d_head), in the dtype of the heads.

    Source: Vaswani et al. 2017, section 3.2.2.
    """
    *batch, n_heads, length, d_head = heads.shape
    return heads.swapaxes(-2, -3).reshape(*batch, length, n_heads * d_head)
