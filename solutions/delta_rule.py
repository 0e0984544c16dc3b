"""The gated delta rule, whose backward pass is an exercise of chapter 11. Given code, not an exercise."""

import numpy as np


def delta_rule(queries, keys, values, fades, strengths):
    """Read from a state into which each word writes what is missing.

    Args:
        queries: (T, d_key)
        keys: (T, d_key)
        values: (T, d_value)
        fades: (T,), the share of the state that stays at each word.
        strengths: (T,), the share of what is missing that is written.

    Returns:
        outputs: (T, d_value), in the dtype of queries.
        cache: the five arguments and states, (T + 1, d_key, d_value): the
            state before the first word, which is zero, and after each word.

    Source: Yang, Kautz & Hatamizadeh 2025 (arXiv 2412.06464), equation 10.
    """
    states = [np.zeros((keys.shape[1], values.shape[1]), queries.dtype)]
    for key, value, fade, strength in zip(keys, values, fades, strengths, strict=True):
        faded = fade * states[-1]
        states.append(faded + strength * np.outer(key, value - key @ faded))
    states = np.array(states)
    outputs = np.einsum("tk,tkv->tv", queries, states[1:])
    return outputs, (queries, keys, values, fades, strengths, states)
