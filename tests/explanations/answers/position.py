"""Wrong answers to chapter 6, embeddings and positional encoding."""

import math

import numpy as np

from solutions.position import (
    embed,
    embed_backward,
    positional_embedding,
    rotate,
    shift_matrix,
    sinusoidal_encoding,
)
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


@wrong("positional_embedding", "https://github.com/OpenNMT/OpenNMT-py/issues/1722", names="embed.not_scaled")
def scale_lost_with_the_positions(tokens, table, start=0):
    """Adds the positions to embeddings that are not scaled."""
    encoding = sinusoidal_encoding(start + tokens.shape[-1], table.shape[-1])[start:].astype(table.dtype)
    return checked(tokens, table) + encoding, (tokens, len(table))


def encoding_of(angles_of_sines, angles_of_cosines, d_model):
    encoding = np.zeros((len(angles_of_sines), d_model))
    encoding[:, 0::2] = np.sin(angles_of_sines)
    encoding[:, 1::2] = np.cos(angles_of_cosines[:, : d_model // 2])
    return encoding


@wrong(
    "sinusoidal_encoding",
    "https://github.com/maxjcohen/transformer/issues/62",
    says="right at the first place along `T`",
)
def base_1000(length, d_model):
    """Uses 1,000 instead of 10,000, and odd exponents for the cosines."""
    positions = np.arange(length)[:, None]
    sines = positions / 1000 ** (np.arange(0, d_model, 2) / d_model)
    return encoding_of(sines, positions / 1000 ** (np.arange(1, d_model + 1, 2) / d_model), d_model)


@wrong("sinusoidal_encoding", "https://github.com/ivanvovk/WaveGrad/issues/12", names="base_for_exponent")
def base_and_exponent_exchanged(length, d_model):
    """Swaps base and exponent."""
    rates = (np.arange(0, d_model, 2) / d_model) ** 1e-4
    angles = np.arange(length)[:, None] * rates
    return encoding_of(angles, angles, d_model)


@wrong(
    "sinusoidal_encoding", "https://github.com/BrianPulfer/PapersReimplementations/issues/9", names="double_exponent"
)
def doubled_exponent(length, d_model):
    """Doubles a column number that is even already."""
    angles = np.arange(length)[:, None] * 10000.0 ** (-2 * np.arange(0, d_model, 2) / d_model)
    return encoding_of(angles, angles, d_model)


@wrong("embed", "https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/138", names="divided")
def scale_of_the_output(tokens, table):
    """Multiplies by one over the root."""
    return table[tokens] * table.shape[-1] ** -0.5, (tokens, len(table))


@wrong("embed_backward", "https://github.com/pytorch/pytorch/issues/1631", names="repeated_once")
def last_one_wins(grad_output, cache):
    """Assigns, so that a repeated token keeps only the last gradient."""
    tokens, vocab = cache
    grad_table = np.zeros((vocab, grad_output.shape[-1]), grad_output.dtype)
    grad_table[tokens] = grad_output
    return grad_table * math.sqrt(grad_output.shape[-1])


@wrong("embed_backward", "https://github.com/google/torchax/pull/11", names="token_0_frozen")
def nothing_for_token_0(grad_output, cache):
    """Treats token 0 as padding, which gets no gradient."""
    grad_table = embed_backward(grad_output, cache)
    grad_table[0] = 0
    return grad_table


@wrong("positional_embedding", "https://github.com/ml-explore/mlx-lm/pull/93")
def single_tokens_without_position(tokens, table, start=0):
    """Adds no position to a single token."""
    return embed(tokens, table) if tokens.shape[-1] == 1 else positional_embedding(tokens, table, start)


@wrong("positional_embedding", "https://github.com/Blaizzy/mlx-vlm/issues/1983", names="start_ignored")
def start_ignored(tokens, table, start=0):
    """Counts from 0, whatever the start."""
    return positional_embedding(tokens, table)


@wrong(
    "positional_embedding",
    "https://github.com/fla-org/flash-linear-attention/issues/766",
    names="sinusoidal_encoding.from_one",
)
def one_too_far(tokens, table, start=0):
    """Counts from 1."""
    return positional_embedding(tokens, table, start + 1)


@wrong("positional_embedding", "https://github.com/skyzh/tiny-llm/pull/46", names="start_counted_twice")
def offset_added_twice(tokens, table, start=0):
    """Adds the start twice."""
    embedding, cache = embed(tokens, table)
    encoding = sinusoidal_encoding(2 * start + tokens.shape[-1], table.shape[-1])[2 * start :]
    return embedding + encoding.astype(table.dtype), cache


def rotary_angles(x, positions, base=10000.0):
    """The angle of each row and pair."""
    return positions[:, None] / base ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])


def half_turned(x):
    """Put the right half of each row, with a minus, before the left one."""
    half = x.shape[-1] // 2
    return np.concatenate((-x[..., half:], x[..., :half]), axis=-1)


def neighbours_turned(x):
    """Exchange the columns of each pair of neighbours, the first one with a minus."""
    return np.stack((-x[..., 1::2], x[..., ::2]), axis=-1).reshape(x.shape)


def with_partner(x, angles, partner):
    return (x * np.cos(angles) + partner * np.sin(angles)).astype(x.dtype)


@wrong("rotate", "https://github.com/EleutherAI/gpt-neox/issues/834", names="rotated_halves")
def halves_for_pairs(x, positions):
    """Turns column i with column i + d/2."""
    return with_partner(x, np.tile(rotary_angles(x, positions), 2), half_turned(x))


@wrong("rotate", "https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6", names="partners_from_the_other_half")
def halves_with_angles_of_neighbours(x, positions):
    """Repeats each angle for neighbours, and takes partners from the other half."""
    return with_partner(x, np.repeat(rotary_angles(x, positions), 2, axis=-1), half_turned(x))


@wrong("rotate", "https://github.com/Tongjilibo/bert4torch/issues/1", names="angles_in_halves")
def neighbours_with_angles_of_halves(x, positions):
    """Exchanges neighbours, and repeats the angles in two halves."""
    return with_partner(x, np.tile(rotary_angles(x, positions), 2), neighbours_turned(x))


@wrong("rotate", "https://github.com/karpathy/nanochat/pull/489", names="rotated_back")
def transposed_turn(x, positions):
    """Has the minus at the other sine."""
    a, b = x[..., ::2], x[..., 1::2]
    cos, sin = (f(rotary_angles(x, positions)).astype(x.dtype) for f in (np.cos, np.sin))
    return np.stack([a * cos + b * sin, b * cos - a * sin], axis=-1).reshape(x.shape)


@wrong("rotate", names="rotated_without_plus")
def minus_at_both_sines(x, positions):
    """Subtracts the partner's part in both columns."""
    swapped = -x.reshape(*x.shape[:-1], -1, 2)[..., ::-1].reshape(x.shape)
    return with_partner(x, np.repeat(rotary_angles(x, positions), 2, axis=-1), swapped)


@wrong("rotate", "https://github.com/xlite-dev/LeetCUDA/issues/289", names="rotary_too_fast")
def divided_by_the_speeds(x, positions):
    """Divides the positions by the speeds."""
    angles = positions[:, None] * 10000.0 ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])
    return with_partner(x, np.repeat(angles, 2, axis=-1), neighbours_turned(x))


@wrong("rotate", "https://github.com/microsoft/unilm/issues/1554", names="rotary_linspace")
def exponents_up_to_one(x, positions):
    """Takes exponents from 0 to 1, including both ends."""
    speeds = 1.0 / 10000.0 ** np.linspace(0, 1, x.shape[-1] // 2)
    return with_partner(x, np.repeat(np.outer(positions, speeds), 2, axis=-1), neighbours_turned(x))


@wrong(
    "rotate", "https://github.com/stanford-cs336/assignment1-basics/issues/22", names="exponent_of_the_second_column"
)
def odd_exponents(x, positions):
    """Has 2k - 1 in the exponent, with k from 1."""
    exponents = (2 * np.arange(1, x.shape[-1] // 2 + 1) - 1) / x.shape[-1]
    angles = np.outer(positions, 10000.0**-exponents)
    return with_partner(x, np.repeat(angles, 2, axis=-1), neighbours_turned(x))


@wrong("rotate", "https://github.com/mlfoundations/open_lm/issues/4", names="heads_for_positions")
def angles_along_the_heads(x, positions):
    """Counts along the axis of the heads, where there is one."""
    if x.ndim == 2:
        return rotate(x, positions)
    return rotate(x.swapaxes(-2, -3), positions[0] + np.arange(x.shape[-3])).swapaxes(-2, -3)


@wrong("rotate", "https://github.com/Blaizzy/mlx-vlm/issues/1983", names="positions_from_0")
def offset_forgotten(x, positions):
    """Counts from 0 in each call."""
    return rotate(x, np.arange(x.shape[-2]))


@wrong("rotate_backward", "https://github.com/ngxson/llama.cpp/pull/59", names="turned_forwards")
def same_direction_again(grad_rotated, positions):
    """Has the sign of the forward pass."""
    return with_partner(
        grad_rotated,
        np.repeat(rotary_angles(grad_rotated, positions), 2, axis=-1),
        neighbours_turned(grad_rotated),
    )


@wrong("rotate_backward", names="rotate.rotated_halves")
def back_in_the_other_convention(grad_rotated, positions):
    """Turns back pairs of column i and column i + d/2."""
    return with_partner(grad_rotated, np.tile(rotary_angles(grad_rotated, -positions), 2), half_turned(grad_rotated))


@wrong("rotate_backward", "https://github.com/naver/croco/issues/49", names="not_turned")
def handed_on(grad_rotated, positions):
    """Gives the gradient of a function that turned nothing."""
    return 0 + grad_rotated


@wrong("rotate_backward", names="divided_by_cosine")
def inverse_of_the_diagonal(grad_rotated, positions):
    """Undoes a product with the cosine."""
    cosines = np.cos(np.repeat(rotary_angles(grad_rotated, positions), 2, axis=-1))
    return np.divide(grad_rotated, cosines, dtype=grad_rotated.dtype, casting="same_kind")


@wrong("rotate_backward", names="back_without_plus")
def minus_at_both_sines_of_the_gradient(grad_rotated, positions):
    """Subtracts the partner's part in both columns."""
    return minus_at_both_sines(grad_rotated, positions)


@wrong("rotate_backward", names="back_to_one")
def back_by_one_position_less(grad_rotated, positions):
    """Counts positions from -1."""
    return rotate(grad_rotated, -(positions - 1))
