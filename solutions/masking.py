"""Chapter 3, masking: deciding who may attend to whom, before the softmax.

A mask is boolean, True = may attend, and broadcasts to (..., T_query, T_key). A query that may attend to
nothing gets weights of zero, an output of zero and gradients of zero.
"""

import math

import numpy as np

from solutions.attention import softmax
from solutions.backward import attention_backward


def causal_mask(length):
    """Each position may attend to itself and to what came before.

    Args:
        length: int, T.

    Returns:
        mask: (T, T) boolean, True on and below the diagonal.

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    return np.tri(length, dtype=bool)


def padding_mask(tokens, pad):
    """Nobody attends to padding: a rule about keys, the same for every query.

    Args:
        tokens: (..., T_key) integers.
        pad: int, the padding token.

    Returns:
        mask: (..., 1, T_key) boolean, True where there is a real token.

    Source: the batching of unequal sentences; not spelled out in Vaswani et al. 2017.
    """
    return (tokens != pad)[..., np.newaxis, :]


def target_mask(tokens, pad):
    """What the decoder's self-attention may see: the past, and of it the real tokens only.

    Args:
        tokens: (..., T) integers.
        pad: int, the padding token.

    Returns:
        mask: (..., T, T) boolean.

    Source: Vaswani et al. 2017, section 3.2.3, with padding.
    """
    return causal_mask(tokens.shape[-1]) & padding_mask(tokens, pad)


def memory_mask(source_tokens, target_length, pad):
    """What the decoder may see of the encoder's output: every real source token, from every target position.

    Args:
        source_tokens: (..., T_source) integers.
        target_length: int, T_target.
        pad: int, the padding token.

    Returns:
        mask: (..., T_target, T_source) boolean, all rows of a sentence alike.

    Source: Vaswani et al. 2017, section 3.2.3 (encoder-decoder attention), with padding.
    """
    return np.repeat(padding_mask(source_tokens, pad), target_length, axis=-2)


def masked_softmax(scores, mask):
    """Softmax over the allowed entries of each row; the others get exactly zero.

    Args:
        scores: (..., n)
        mask: boolean, broadcastable to (..., n), True = may attend.

    Returns:
        weights: (..., n) in the dtype of `scores`; a row with nothing allowed is all zeros.

    Source: Vaswani et al. 2017, section 3.2.3: disallowed scores are -inf, and exp(-inf) = 0.
    """
    # A row of -inf alone would come out as NaN. It keeps its scores instead, and loses its weights at the end.
    row_is_empty = ~mask.any(axis=-1, keepdims=True)
    weights = softmax(np.where(mask | row_is_empty, scores, -np.inf))
    return np.where(mask, weights, 0)


def masked_attention(queries, keys, values, mask):
    """Scaled dot-product attention in which a query sees only the keys its mask allows.

    Args:
        queries: (..., T_query, d_key)
        keys: (..., T_key, d_key)
        values: (..., T_key, d_value)
        mask: boolean, broadcastable to (..., T_query, T_key), True = may attend.

    Returns:
        output: (..., T_query, d_value), zero for a query that may attend to nothing.
        cache: (queries, keys, values, weights), the same as `attention`'s.

    Source: Vaswani et al. 2017, section 3.2.1 and figure 2: scale, mask, softmax, in this order.
    """
    scores = (queries / math.sqrt(keys.shape[-1])) @ keys.swapaxes(-1, -2)
    weights = masked_softmax(scores, mask)
    return weights @ values, (queries, keys, values, weights)


def masked_attention_backward(grad_output, cache):
    """The gradients of `masked_attention`.

    Nothing is left to do for the mask: a weight of zero lets no gradient through to its score or its value.

    Args:
        grad_output: (..., T_query, d_value)
        cache: (queries, keys, values, weights) of `masked_attention`.

    Returns:
        grad_queries: (..., T_query, d_key)
        grad_keys: (..., T_key, d_key)
        grad_values: (..., T_key, d_value)

    Source: derived in this chapter.
    """
    return attention_backward(grad_output, cache)


def leaks(decoder, x, other):
    """Find out from outside whether a decoder sees the future: sequences that begin alike must come out alike.

    Args:
        decoder: function of one sequence, (T, ...) -> (T, ...), that should not look ahead.
        x: (T, ...), a sequence: tokens or vectors.
        other: (T, ...), another one, different at every position.

    Returns:
        bool: True if some output changes when only later inputs change.

    Source: the definition of autoregressive decoding, Vaswani et al. 2017, section 3.1.
    """
    output = decoder(x)
    for t in range(1, len(x)):
        same_past = decoder(np.concatenate([x[:t], other[t:]]))
        if not np.allclose(same_past[:t], output[:t]):
            return True
    return False


def repaired_masked_self_attention(x, w_query, w_key, w_value, mask):
    """Self-attention in which each position sees only what its mask allows.

    Args:
        x: (..., T, d_model)
        w_query: (d_model, d_key)
        w_key: (d_model, d_key)
        w_value: (d_model, d_value)
        mask: boolean, broadcastable to (..., T, T), True = may attend.

    Returns:
        output: (..., T, d_value)
        weights: (..., T, T), the allowed weights of each row adding up to one.

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    output, (*_, weights) = masked_attention(x @ w_query, x @ w_key, x @ w_value, mask)
    return output, weights
