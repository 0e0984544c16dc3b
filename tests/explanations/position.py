"""Wrong answers to chapter 6, embeddings and positional encoding."""

import math

import numpy as np

from solutions.position import embed, shift_matrix, sinusoidal_encoding
from tests.explanations.registry import wrong


def waves(length, d_model, angles):
    """Sines of the even and cosines of the odd columns of a full matrix of angles."""
    columns = np.arange(d_model)
    return np.where(columns % 2, np.cos(angles), np.sin(angles))


def positions(length):
    return np.arange(length)[:, None]


def checked(tokens, table):
    """The embedding of tokens that are all in the table."""
    return embed(tokens, table)[0] / table.dtype.type(math.sqrt(table.shape[-1]))


@wrong("sinusoidal_encoding", "https://github.com/SamLynnEvans/Transformer/issues/25", names="doubled_per_column")
def doubled_column_and_next_one(length, d_model):
    """Doubles a column number that is even already, and moves on by one for the cosine."""
    return waves(length, d_model, positions(length) / 10000 ** (2 * np.arange(d_model) / d_model))


@wrong("sinusoidal_encoding", "https://github.com/DongjunLee/transformer-tensorflow/issues/6", names="speed_per_column")
def a_rate_for_each_column(length, d_model):
    """Gives sine and cosine of a pair different rates."""
    return waves(length, d_model, positions(length) / 10000 ** (np.arange(d_model) / d_model))


@wrong("sinusoidal_encoding", "https://github.com/tensorflow/text/issues/1122", names="in_halves")
def halves(length, d_model):
    """Sets all sines before all cosines."""
    angles = positions(length) / 10000 ** (np.arange(0, d_model, 2) / d_model)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)[:, :d_model]


@wrong("sinusoidal_encoding", "https://github.com/zju3dv/LoFTR/issues/41", names="rate_rounded_down")
def floor_of_the_rate(length, d_model):
    """A floor division in the exponent turns the rate into -1."""
    exponents = np.arange(0, d_model, 2) * (-math.log(10000.0) / d_model // 2)
    angles = np.repeat(positions(length) * np.exp(exponents), 2, axis=-1)[:, :d_model]
    return waves(length, d_model, angles)


@wrong("sinusoidal_encoding", "https://github.com/harvardnlp/annotated-transformer/issues/131", names="too_fast")
def divided_by_the_rates(length, d_model):
    """Divides the positions by the rates."""
    rates = np.exp(np.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    return waves(length, d_model, np.repeat(positions(length) / rates, 2, axis=-1)[:, :d_model])


@wrong("sinusoidal_encoding", "https://github.com/Kyubyong/transformer/pull/81", names="one_speed")
def exponents_of_zero(length, d_model):
    """Integer division turns every exponent into zero."""
    return waves(length, d_model, positions(length) / 10000.0 ** (2 * (np.arange(d_model) // 2) // d_model))


@wrong("shift_matrix", "https://github.com/bkitano/llama-from-scratch/issues/8", names="pairs_from_minus_one")
def pairs_counted_from_one(k, d_model):
    """Subtracts one from a pair's number that begins at zero."""
    if d_model % 2:
        raise ValueError
    rotation = np.zeros((d_model, d_model))
    for i in range(d_model // 2):
        angle = k * 10000.0 ** (-2 * (i - 1) / d_model)
        block = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        rotation[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    return rotation


@wrong("shift_matrix", "https://github.com/karpathy/nanochat/pull/489", names="transposed_rotation")
def transposed_rotation(k, d_model):
    """Has the minus at the other sine."""
    return shift_matrix(k, d_model).T.copy()


@wrong("shift_matrix", "https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6", names="rotation_in_halves")
def rotates_halves(k, d_model):
    """Pairs column i with column i + d/2."""
    if d_model % 2:
        raise ValueError
    half = d_model // 2
    angles = k * 10000.0 ** (-2 * np.arange(half) / d_model)
    cosines, sines = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[cosines, -sines], [sines, cosines]])


@wrong("embed", "https://github.com/SamLynnEvans/Transformer/issues/10", names="not_scaled")
def no_root_of_the_width(tokens, table):
    """Looks the rows up and does not scale them."""
    return checked(tokens, table), (tokens, len(table))


@wrong("embed", "https://github.com/Kyubyong/transformer/issues/132", names="divided")
def divided_by_the_root(tokens, table):
    """Divides by the root of the width."""
    return checked(tokens, table) / table.dtype.type(math.sqrt(table.shape[-1])), (tokens, len(table))


@wrong("embed_backward", "https://github.com/ZacBi/CS224n-2019-solutions/issues/5", names="repeated_once")
def repeated_tokens_once(grad_output, cache):
    """Adds with +=, which counts a repeated token once."""
    tokens, vocab = cache
    grad_table = np.zeros((vocab, grad_output.shape[-1]), grad_output.dtype)
    grad_table[tokens] += grad_output
    return grad_table * math.sqrt(grad_output.shape[-1])


@wrong("embed_backward", "https://github.com/nadavbh12/VQ-VAE/pull/4", names="averaged")
def mean_over_places(grad_output, cache):
    """Averages over the places of a token."""
    tokens, vocab = cache
    rows = grad_output.reshape(-1, grad_output.shape[-1])
    grad_table = np.zeros((vocab, rows.shape[-1]), rows.dtype)
    for token in np.unique(tokens):
        grad_table[token] = rows[tokens.reshape(-1) == token].mean(axis=0)
    return grad_table * math.sqrt(rows.shape[-1])


@wrong("positional_embedding", "https://github.com/DiffPoseTalk/DiffPoseTalk/issues/20", names="one_position_for_all")
def one_position_for_all(tokens, table, start=0):
    """Indexes with the length where it should slice up to it."""
    embedding, cache = embed(tokens, table)
    length = start + tokens.shape[-1]
    return embedding + sinusoidal_encoding(length + 1, table.shape[-1])[length].astype(table.dtype), cache


@wrong("positional_embedding", "https://github.com/tanjimin/C.Origami/issues/42", names="batch_for_positions")
def positions_along_the_batch(tokens, table, start=0):
    """Counts the positions along the first axis."""
    embedding, cache = embed(tokens, table)
    encoding = sinusoidal_encoding(start + len(tokens), table.shape[-1])[start:].astype(table.dtype)
    return embedding + encoding.reshape(len(tokens), *[1] * (tokens.ndim - 1), -1), cache


@wrong("positional_embedding", "https://github.com/Kyubyong/transformer/issues/60", names="scaled_after_adding")
def positions_scaled_too(tokens, table, start=0):
    """Multiplies the positions by the root of the width, too."""
    embedding, cache = embed(tokens, table)
    encoding = sinusoidal_encoding(start + tokens.shape[-1], table.shape[-1])[start:]
    return embedding + (encoding * math.sqrt(table.shape[-1])).astype(table.dtype), cache


@wrong("positional_embedding", "https://github.com/OpenNMT/OpenNMT-py/issues/1722", names="positions_unscaled")
def scale_lost_with_the_positions(tokens, table, start=0):
    """Adds the positions to embeddings that are not scaled."""
    encoding = sinusoidal_encoding(start + tokens.shape[-1], table.shape[-1])[start:].astype(table.dtype)
    return checked(tokens, table) + encoding, (tokens, len(table))
