"""Chapter 6, embeddings and positional encoding: what a token is, and where it stands.

Shapes use the names of the book's notation page; `...` stands for any leading batch axes.
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
    """The matrix that moves an encoding k positions forward.

    Row p of the encoding times this matrix is row p + k, for every p.

    Args:
        k: int; negative moves back.
        d_model: int, width of the encoding, even.

    Returns:
        rotation: (d_model, d_model), float64, with one 2 x 2 rotation per
            pair of columns on its diagonal.

    Raises:
        ValueError: d_model is odd. Then the last sine lacks the cosine that
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
        cache: (tokens, vocab), for `embed_backward`.

    Raises:
        IndexError: a token is outside 0 .. vocab - 1.

    Source: Vaswani et al. 2017, section 3.4.
    """
    vocab, d_model = table.shape
    # NumPy would silently read -1 as the last row.
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < vocab:
        raise IndexError(f"tokens must lie in 0 .. {vocab - 1}, and run from {tokens.min()} to {tokens.max()}")
    return table[tokens] * math.sqrt(d_model), (tokens, vocab)


def embed_backward(grad_output, cache):
    """Gradient of a look-up: each row sums over the places of its token.

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


def tests_embed_backward(function):
    """Test a function that claims to go back through the look-up.

    Args:
        function: a candidate for `embed_backward`, with the same arguments:
            grad_output (..., T, d_model) and cache, (tokens, vocab).

    Returns:
        verdict: True if the function keeps every promise of
            `embed_backward`: the right gradient for any tokens and any
            number of batch axes, in the shape of the table and in the dtype
            of grad_output, which is not modified. False if it breaks one. A
            failed `assert` or an exception also counts as False, and a test
            that ends without a `return` counts as True.
    """
    rng = np.random.default_rng(0)
    for shape in ((6,), (2, 4), (2, 1, 5)):
        tokens = rng.choice([0, 1, 4], size=shape)  # some come twice, 2, 3 and 5 never
        tokens.flat[:3] = 0, 4, 4
        grad_output = rng.normal(size=(*shape, 3)).astype(np.float32)
        before = grad_output.copy()
        grad_table = function(grad_output, (tokens, 6))
        one_hot = (tokens.ravel() == np.arange(6)[:, None]).astype(np.float32)
        expected = math.sqrt(3) * one_hot @ before.reshape(-1, 3)
        if grad_table.shape != expected.shape or grad_table.dtype != np.float32:
            return False
        if not np.allclose(grad_table, expected, atol=1e-5) or not np.array_equal(grad_output, before):
            return False
    return True


def positional_embedding(tokens, table, start=0):
    """What enters the first layer: scaled embeddings plus positions.

    Args:
        tokens: (..., T), integers in 0 .. vocab - 1.
        table: (vocab, d_model)
        start: int, position of the first token; 0 except when decoding step
            by step (chapter 8).

    Returns:
        output: (..., T, d_model), in the dtype of `table`.
        cache: (tokens, vocab) from `embed`. The encoding is a constant, so
            `embed_backward` is the backward pass.

    Raises:
        IndexError: a token is outside 0 .. vocab - 1.

    Source: Vaswani et al. 2017, sections 3.4 and 3.5.
    """
    embedding, cache = embed(tokens, table)
    encoding = sinusoidal_encoding(start + tokens.shape[-1], table.shape[-1])[start:]
    return embedding + encoding.astype(table.dtype), cache


def rotate(x, positions):
    """Turn each pair of columns by an angle that grows with the position.

    At position p, the pair of columns 2i and 2i + 1 turns by the angle
    p / 10000^(2i / d_key): (a, b) becomes (a cos - b sin, a sin + b cos).

    Args:
        x: (..., T, d_key), queries or keys, d_key even.
        positions: (T,), integers; row t of x is at positions[t].

    Returns:
        rotated: (..., T, d_key), in the dtype of x.

    Source: Su et al. 2021, section 3.2.
    """
    d_key = x.shape[-1]
    angles = positions[:, np.newaxis] * 10000.0 ** (-np.arange(0, d_key, 2) / d_key)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)


def rotate_backward(grad_rotated, positions):
    """Gradient of `rotate`.

    Args:
        grad_rotated: (..., T, d_key), d_key even.
        positions: (T,), integers; the positions that `rotate` got.

    Returns:
        grad_x: (..., T, d_key), in the dtype of grad_rotated.

    Source: derived in this chapter.
    """
    return rotate(grad_rotated, -positions)
