"""Chapter 1, attention: every query asks all keys, and gets a weighted average of their values.

Shapes use the names of the book's notation page; `...` stands for any leading batch axes.
"""

import math

import numpy as np


def softmax(scores):
    """Turn each row of scores into weights: positive, adding up to one.

    Args:
        scores: (..., n), any real numbers, however large.

    Returns:
        weights: (..., n), the softmax of each row, in the same dtype.

    Source: Vaswani et al. 2017, equation 1. First subtract each row's
    largest score, which changes no weight and keeps exp from overflowing.
    """
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def scaled_scores(queries, keys):
    """How well each key fits each query: dot products over sqrt(d_key).

    Args:
        queries: (..., T_query, d_key)
        keys: (..., T_key, d_key)

    Returns:
        scores: (..., T_query, T_key)

    Raises:
        ValueError: queries and keys differ in their last axis.

    Source: Vaswani et al. 2017, section 3.2.1.
    """
    d_key = keys.shape[-1]
    if queries.shape[-1] != d_key:
        raise ValueError(f"queries have d_key = {queries.shape[-1]}, keys have d_key = {d_key}: they must agree")
    # Scaling the queries costs T_query * d_key products; scaling the scores would cost T_query * T_key.
    return (queries / math.sqrt(d_key)) @ keys.swapaxes(-1, -2)


def attention_weights(queries, keys):
    """How much each query attends to each key.

    Args:
        queries: (..., T_query, d_key)
        keys: (..., T_key, d_key)

    Returns:
        weights: (..., T_query, T_key), each row adding up to one, in the
            dtype of the queries.

    Raises:
        ValueError: queries and keys differ in their last axis.

    Source: Vaswani et al. 2017, section 3.2.1.
    """
    return softmax(scaled_scores(queries, keys))


def attention(queries, keys, values):
    """Scaled dot-product attention: each query averages the values.

    Args:
        queries: (..., T_query, d_key)
        keys: (..., T_key, d_key)
        values: (..., T_key, d_value)

    Returns:
        output: (..., T_query, d_value), in the dtype of the inputs.
        cache: (queries, keys, values, weights), for the backward pass.

    Raises:
        ValueError: queries and keys differ in their last axis.

    Source: Vaswani et al. 2017, equation 1.
    """
    weights = attention_weights(queries, keys)
    return weights @ values, (queries, keys, values, weights)


def copies_predecessor(n_words, length):
    """Choose self-attention weights that make each word copy its predecessor.

    A row of the input x (T, n_words + length), with T <= length, has two
    ones: in the column of the word, from 0 to n_words - 1, and in the
    column n_words + position. Positions begin at 0.

    Each position but the first gives at least 99% of its weight to the
    position before it, and its output is largest in the column of that
    position's word.

    Args:
        n_words: int, how many different words there are.
        length: int, the most words in a sentence, at least 2.

    Returns:
        w_query: (n_words + length, d_key), for any d_key up to 512.
        w_key: (n_words + length, d_key)
        w_value: (n_words + length, n_words)
    """
    no_words, no_positions = np.zeros((n_words, length)), np.zeros((length, n_words))
    # exp(strength) = 1000 * length: the other keys together get a thousandth of the weight.
    strength = math.log(1000 * length) * math.sqrt(length)
    w_query = np.vstack([no_words, strength * np.eye(length, k=-1)])
    w_key = np.vstack([no_words, np.eye(length)])
    w_value = np.vstack([np.eye(n_words), no_positions])
    return w_query, w_key, w_value


def repaired_attention(queries, keys, values):
    """Compute attention one key at a time, with the three mistakes fixed.

    Args:
        queries: (..., T_query, d_key)
        keys: (..., T_key, d_key)
        values: (..., T_key, d_value)

    Returns:
        output: (..., T_query, d_value), finite however large the scores,
            in the dtype of the inputs.

    Source: Vaswani et al. 2017, equation 1.
    """
    T_key, d_key = keys.shape[-2:]
    queries = queries / math.sqrt(d_key)
    # A row's largest score is known after the last key only, so the keys are read twice.
    largest = np.full((*queries.shape[:-1], 1), -np.inf, queries.dtype)
    for j in range(T_key):
        score = (queries * keys[..., j : j + 1, :]).sum(axis=-1, keepdims=True)
        largest = np.maximum(largest, score)
    total = np.zeros_like(largest)
    output = np.zeros((*queries.shape[:-1], values.shape[-1]), queries.dtype)
    for j in range(T_key):
        score = (queries * keys[..., j : j + 1, :]).sum(axis=-1, keepdims=True)
        strength = np.exp(score - largest)
        total += strength
        output += strength * values[..., j : j + 1, :]
    return output / total
