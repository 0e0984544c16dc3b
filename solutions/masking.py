"""Chapter 3, masking: deciding who may attend to whom, before the softmax.

A mask is boolean, True = may attend, and broadcasts to (..., T_query, T_key). A query that may attend to
nothing gets weights of zero, an output of zero and gradients of zero.
"""

import math

import numpy as np

from solutions.attention import scaled_scores, softmax


def causal_mask(length):
    """Each position may attend to itself and to what came before it.

    Args:
        length: int, T.

    Returns:
        mask: (T, T) boolean, True on and below the diagonal.

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    return np.tri(length, dtype=bool)


def padding_mask(tokens, pad):
    """Mask padding. The rule is about keys and the same for every query.

    Args:
        tokens: (..., T_key) integers.
        pad: int, the padding token.

    Returns:
        mask: (..., 1, T_key) boolean, True where there is a real token.

    Source: what a batch of unequal sentences needs; Vaswani et al. 2017
    do not spell it out.
    """
    return (tokens != pad)[..., np.newaxis, :]


def target_mask(tokens, pad):
    """Let each position see itself and earlier tokens, but no padding.

    Args:
        tokens: (..., T) integers.
        pad: int, the padding token.

    Returns:
        mask: (..., T, T) boolean, causal mask and padding mask in one.

    Source: Vaswani et al. 2017, section 3.2.3, with padding.
    """
    return causal_mask(tokens.shape[-1]) & padding_mask(tokens, pad)


def masked_softmax(scores, mask):
    """Softmax over the allowed entries of each row; the others get zero.

    Args:
        scores: (..., n), any real numbers, however large.
        mask: boolean, broadcastable to (..., n), True = may attend.

    Returns:
        weights: (..., n), in the dtype of the scores. A row in which
            nothing is allowed is all zeros.

    Source: Vaswani et al. 2017, section 3.2.3: what is not allowed gets
    the score -inf, and exp(-inf) = 0.
    """
    # A row of -inf alone would come out as NaN. It keeps its scores instead, and loses its weights at the end.
    row_is_empty = ~mask.any(axis=-1, keepdims=True)
    weights = softmax(np.where(mask | row_is_empty, scores, -np.inf))
    return np.where(mask, weights, 0)


def streaming_attention(queries, keys, values, size, causal=False):
    """Compute attention's output from one block of keys after another.

    It never builds the array of all weights, (..., T_query, T_key).

    Args:
        queries: (..., T_query, d_key)
        keys: (..., T_key, d_key)
        values: (..., T_key, d_value)
        size: int, the number of keys in a block; the last block may have
            fewer.
        causal: bool; if True, T_query is T_key, and a query sees its own
            position and those before it.

    Returns:
        output: (..., T_query, d_value), the output of attention, finite
            however large the scores.
        log_total: (..., T_query, 1), the logarithm of the sum of the
            exponentials of all scores that the query sees.

    Both are in the dtype of the inputs.

    Source: Milakov & Gimelshein 2018 (arXiv 1805.02867); Rabe & Staats
    2021 (arXiv 2112.05682); Dao et al. 2022 (arXiv 2205.14135).
    """
    top = np.full_like(queries[..., :1], -np.inf)  # the largest score so far
    total = np.zeros_like(top)
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), values.dtype)
    for start in range(0, keys.shape[-2], size):
        scores = _block_of_scores(queries, keys, start, size, causal)
        new_top = np.maximum(top, scores.max(axis=-1, keepdims=True))
        shrink = np.exp(top - new_top)
        strengths = np.exp(scores - new_top)
        total = shrink * total + strengths.sum(axis=-1, keepdims=True)
        output = shrink * output + strengths @ values[..., start : start + size, :]
        top = new_top
    return output / total, top + np.log(total)


def streaming_attention_backward(grad_output, cache, size, causal=False):
    """Return the gradients of `streaming_attention`, block by block.

    Args:
        grad_output: (..., T_query, d_value), the gradient of output.
        cache: (queries, keys, values, output, log_total), what
            `streaming_attention` took and returned.
        size, causal: as in `streaming_attention`.

    Returns:
        grad_queries: (..., T_query, d_key)
        grad_keys: (..., T_key, d_key)
        grad_values: (..., T_key, d_value), all three in the dtype of
            grad_output.

    Source: derived in this chapter; Dao et al. 2022, section 3.1.
    """
    queries, keys, values, output, log_total = cache
    grad_queries, grad_keys, grad_values = (np.zeros_like(array) for array in (queries, keys, values))
    row_sums = np.sum(grad_output * output, axis=-1, keepdims=True)
    root = math.sqrt(keys.shape[-1])
    for start in range(0, keys.shape[-2], size):
        block = np.s_[..., start : start + size, :]
        weights = np.exp(_block_of_scores(queries, keys, start, size, causal) - log_total)
        grad_scores = weights * (grad_output @ values[block].swapaxes(-1, -2) - row_sums) / root
        grad_queries += grad_scores @ keys[block]
        grad_keys[block] = grad_scores.swapaxes(-1, -2) @ queries
        grad_values[block] = weights.swapaxes(-1, -2) @ grad_output
    return grad_queries, grad_keys, grad_values


def _block_of_scores(queries, keys, start, size, causal):
    """The scores of a block of keys that begins at `start`, -inf where a query may not see the key."""
    scores = scaled_scores(queries, keys[..., start : start + size, :])
    if not causal:
        return scores
    rows, columns = np.arange(scores.shape[-2]), np.arange(start, start + scores.shape[-1])
    return np.where(columns <= rows[:, None], scores, -np.inf)


def leaks(decoder, sequences):
    """Test from outside whether a decoder sees the future.

    Args:
        decoder: function of one sequence, (T, ...) -> (T, ...), that should
            not look ahead.
        sequences: (n, T, ...), several sequences of tokens or of vectors,
            any two of them different at every position.

    Returns:
        bool: True if there are two sequences such that some output of the
            first changes when only later inputs are replaced by those of
            the second. A change of a ten-thousandth counts, however large
            the output is; a change by rounding is no leak. The length is no
            secret, because it stays the same.

    Source: the decoder's masking, Vaswani et al. 2017, section 3.1: position
    i can depend only on positions up to i.
    """
    for x in sequences:
        output = decoder(x)
        for other in sequences:
            for t in range(1, len(x)):
                same_past = decoder(np.concatenate([x[:t], other[t:]]))
                # rtol=0, because a tolerance that grows with the outputs would hide a small leak in large ones.
                if not np.allclose(same_past[:t], output[:t], rtol=0, atol=1e-6):
                    return True
    return False


def diagnose_masks(weights, tokens, pad):
    """Name the bug of a target mask, and the first row of weights with it.

    Args:
        weights: (N, T, T), from the decoder's self-attention. A query that
            may attend to nothing has weights of zero.
        tokens: (N, T) integers, padded at the end.
        pad: int, the padding token.

    Returns:
        bug: str, a name in the table of 'Read the mask from the weights'.
        first: (sentence, query), two ints, the first row, in reading order,
            that a correct mask would not give; None if there is no such
            row.
    """
    causal, real = causal_mask(tokens.shape[-1]), padding_mask(tokens, pad)
    right = causal & real
    masks = {
        "no causal mask": np.broadcast_to(real, right.shape),
        "causal mask transposed": causal.T & real,
        "own position hidden": np.tri(tokens.shape[-1], k=-1, dtype=bool) & real,
        "no padding mask": np.broadcast_to(causal, right.shape),
        "queries masked, not keys": causal & real.swapaxes(-1, -2),
        "padding of another sentence": causal & np.roll(real, 1, axis=0),
        "or in place of and": causal | real,
        "mask inverted": ~right,
        "mask after the softmax": right,
    }
    visible = weights > 0
    wrong = (visible != right).any(axis=-1) | (np.abs(weights.sum(axis=-1) - right.any(axis=-1)) > 1e-6)
    if not wrong.any():
        return "nothing", None
    bug = next(name for name, mask in masks.items() if np.array_equal(visible, mask))
    return bug, tuple(int(i) for i in np.argwhere(wrong)[0])
