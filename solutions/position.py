"""Chapter 6, embeddings and positional encoding: what a token is, and where it stands.

Shapes are written in the names of the book's notation page; `...` stands for any leading batch axes.
"""

import math

import numpy as np


def sinusoidal_encoding(length, d_model):
    """Give every position a row of sines and cosines, from fast to slow.

    Args:
        length: int, number of positions; the first one is 0.
        d_model: int, width of a row, even or odd.

    Returns:
        encoding: (length, d_model), float64. Entry [p, 2i] is
            sin(p / 10000^(2i / d_model)), entry [p, 2i + 1] the cosine of
            the same angle. An odd d_model ends on a sine without its cosine.

    Source: Vaswani et al. 2017, section 3.5.
    """
    frequencies = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angles = np.arange(length)[:, None] * frequencies
    encoding = np.zeros((length, d_model))
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles[:, : d_model // 2])
    return encoding


def shift_matrix(k, d_model):
    """The matrix that moves an encoding k positions on.

    Row p of the encoding times it is row p + k, whatever p is.

    Args:
        k: int; negative moves back.
        d_model: int, width of the encoding, even.

    Returns:
        rotation: (d_model, d_model), float64, with one 2 x 2 rotation per
            pair of columns on its diagonal.

    Raises:
        ValueError: d_model is odd. The last sine has lost the cosine that
            its rotation needs.

    Source: Vaswani et al. 2017, section 3.5 ("PE(pos + k) can be
    represented as a linear function of PE(pos)").
    """
    if d_model % 2:
        raise ValueError(f"d_model = {d_model} is odd: its last sine has no cosine to rotate with")
    sine = np.arange(0, d_model, 2)
    cosine = sine + 1
    angles = k * 10000.0 ** (-sine / d_model)
    rotation = np.zeros((d_model, d_model))
    rotation[sine, sine] = np.cos(angles)
    rotation[cosine, sine] = np.sin(angles)
    rotation[sine, cosine] = -np.sin(angles)
    rotation[cosine, cosine] = np.cos(angles)
    return rotation


def looks_back(k, d_model):
    """Choose weights with which every position attends k positions back.

    The input of the head is the sinusoidal encoding (T, d_model) alone, of
    any length T up to 200. Position t gives at least 99% of its weight to
    position t - k, if there is such a position.

    Args:
        k: int; negative looks ahead.
        d_model: int, width of the encoding, even, at least 4.

    Returns:
        w_query: (d_model, d_key), for any d_key up to 512.
        w_key: (d_model, d_key)
    """
    # Row t of the encoding becomes row t - k, whose dot product is largest with the key that equals it.
    return 1e4 * math.sqrt(d_model) * shift_matrix(-k, d_model), np.eye(d_model)


def embed(tokens, table):
    """Look up each token's row and scale it by sqrt(d_model).

    Args:
        tokens: (..., T), integers in 0 .. vocab - 1.
        table: (vocab, d_model), one row per token.

    Returns:
        output: (..., T, d_model), in the dtype of `table`.
        cache: (tokens, vocab), what `embed_backward` asks for.

    Raises:
        IndexError: a token lies outside 0 .. vocab - 1.

    Source: Vaswani et al. 2017, section 3.4.
    """
    vocab, d_model = table.shape
    # NumPy would read -1 as the last row, in silence.
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < vocab:
        raise IndexError(f"tokens must lie in 0 .. {vocab - 1}, and run from {tokens.min()} to {tokens.max()}")
    return table[tokens] * math.sqrt(d_model), (tokens, vocab)


def embed_backward(grad_output, cache):
    """Gradient of a look-up: each row gathers from where its token stood.

    Args:
        grad_output: (..., T, d_model)
        cache: (tokens, vocab) from `embed`.

    Returns:
        grad_table: (vocab, d_model), in the dtype of grad_output; rows of
            tokens that do not occur are zero.

    Source: derived in this chapter.
    """
    tokens, vocab = cache
    d_model = grad_output.shape[-1]
    grad_table = np.zeros((vocab, d_model), dtype=grad_output.dtype)
    # `grad_table[tokens] += ...` would count a repeated token once; `add.at` adds every time.
    np.add.at(grad_table, tokens.reshape(-1), grad_output.reshape(-1, d_model))
    return grad_table * math.sqrt(d_model)


def positional_embedding(tokens, table, start=0):
    """What enters the first layer: scaled embeddings plus positions.

    Args:
        tokens: (..., T), integers in 0 .. vocab - 1.
        table: (vocab, d_model)
        start: int, position of the first token; 0 but for decoding step by
            step (chapter 8).

    Returns:
        output: (..., T, d_model), in the dtype of `table`.
        cache: (tokens, vocab) from `embed`. The encoding is a constant, so
            `embed_backward` is the backward pass.

    Raises:
        IndexError: a token lies outside 0 .. vocab - 1.

    Source: Vaswani et al. 2017, sections 3.4 and 3.5.
    """
    embedding, cache = embed(tokens, table)
    encoding = sinusoidal_encoding(start + tokens.shape[-1], table.shape[-1])[start:]
    return embedding + encoding.astype(table.dtype), cache


def repaired_add_positions(x):
    """Add the sinusoidal encoding to embeddings that are already scaled.

    Args:
        x: (..., T, d_model), d_model even or odd; left as it is.

    Returns:
        output: (..., T, d_model), x plus the encoding of positions
            0 .. T - 1, in the dtype of x.

    Source: Vaswani et al. 2017, section 3.5.
    """
    length, d_model = x.shape[-2:]
    return x + sinusoidal_encoding(length, d_model).astype(x.dtype)
