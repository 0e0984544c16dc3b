"""Compute angles, and draw tokens and a table, for the exercises of chapter 6."""

import numpy as np


def taking_turns(angles, d_model, even=np.sin, odd=np.cos):
    """Return columns of `even` and `odd` in turn, from one angle per column."""
    return np.where(np.arange(d_model) % 2 == 0, even(angles), odd(angles))


def angles_of(length, d_model, base=10000.0, first=0):
    """Return an angle for each position and column. Both columns of a pair have the same angle."""
    column = np.arange(d_model)
    return (first + np.arange(length))[:, None] / base ** ((column - column % 2) / d_model)


def looked_up(draw, *shape, dtype=np.float64, d_model=None, low=0):
    """Draw tokens of this shape and a table. The table's last token comes first, and the token `low` last."""
    vocab, width = draw.sizes(2, low=5, high=12)
    tokens = draw.rng.integers(low, vocab, size=shape)
    tokens.reshape(-1)[-1] = low
    tokens.reshape(-1)[0] = vocab - 1
    return {"tokens": tokens, "table": draw.normal(vocab, width if d_model is None else d_model, dtype=dtype)}


def text_cases(draw):
    n_batch, T = draw.sizes(2, low=2, high=5)
    yield "one sentence", looked_up(draw, T + 1)
    yield "a batch", looked_up(draw, n_batch, T)
    yield "two batch axes", looked_up(draw, 2, n_batch, T)


def refuse_unknown(tokens, table):
    if ((tokens < 0) | (tokens >= len(table))).any():
        raise IndexError("unknown token")
