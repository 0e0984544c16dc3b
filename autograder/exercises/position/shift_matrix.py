import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import position as reference

shift_matrix = Exercise(
    reference.shift_matrix,
    outputs={"rotation": "d_model d_model"},
    tolerance=1e-6,  # of a matrix solved for from 200 rows of the encoding, most of which hardly turns
    section="A shift is a rotation",
)
wrong = short_mistakes(shift_matrix)


@shift_matrix.cases("forwards", points=2)
def _(draw):
    k, pairs = draw.sizes(2, low=2, high=8)
    yield "a few positions on", {"k": k, "d_model": 2 * pairs}
    yield "one position on", {"k": 1, "d_model": 2 * draw.size(3, 8)}


@shift_matrix.cases("backwards and edge cases", points=1)
def _(draw):
    k, pairs = draw.sizes(2, low=2, high=8)
    yield "backwards", {"k": -k, "d_model": 2 * pairs}
    yield "not at all", {"k": 0, "d_model": 2 * draw.size(2, 6)}
    yield "one pair", {"k": k, "d_model": 2}
    yield "far", {"k": draw.size(100, 200), "d_model": 6}


@shift_matrix.cases("errors", points=1)
def _(draw):
    yield "even, before odd", {"k": draw.size(2, 6), "d_model": 2 * draw.size(2, 6)}
    yield "an odd width", {"k": 2, "d_model": 2 * draw.size(1, 6) + 1}


def blocks(k, d_model, base=10000.0, flip=-1.0):
    """Return a matrix with one 2 x 2 block per pair; raise ValueError for an odd width."""
    refuse_odd(d_model)
    matrix = np.zeros((d_model, d_model))
    for j in range(0, d_model, 2):
        angle = k / base ** (j / d_model)
        c, s = math.cos(angle), math.sin(angle)
        matrix[j : j + 2, j : j + 2] = [[c, flip * s], [s, c]]
    return matrix


def refuse_odd(d_model):
    if d_model % 2:
        raise ValueError("odd")


@shift_matrix.mistake("moves the other way")
def transposed_rotation(k, d_model):
    """Your matrix moves k positions *back*. It is the transpose of the right matrix: either a sign is wrong, or you
    built it for columns, R p, but here vectors are rows, p R."""
    return blocks(-k, d_model)


wrong("no_minus", blocks, flip=1.0)("""
    has both signs plus
    Both of your sines have a plus sign. The cosine of a sum contains a minus sign: cos(a + b) = cos a cos b - sin a sin
    b. Without it the matrix is not a rotation, and lengths change.""")
wrong("shift_base_1000", blocks, base=1000.0)("""
    takes 1000 for 10000
    Your base is 1000. It should be 10000, because the matrix must turn each pair as fast as the encoding does.""")
wrong("shift_half_exponent", blocks, base=100.0)("""
    has i/d where 2i/d belongs
    Your exponent is the pair's number over d_model. It should be twice that, as in the encoding.""")
wrong("one_speed", blocks, base=1.0)("""
    turns all pairs at one speed
    You turn every pair by k radians. That is right only for the first pair, because each pair has its own
    frequency.""")
wrong("pairs_from_minus_one", lambda k, d_model: blocks(k * 10000 ** (2 / d_model), d_model))("""
    counts the pairs from -1
    Pair i gets the frequency of pair i - 1. A formula that numbers the pairs from 1 has i - 1 in its exponent. Here the
    numbers begin at 0, and the first pair turns by k radians.""")
wrong("always_one", lambda k, d_model: blocks(1, d_model))("""
    ignores k
    Your matrix moves one position on, whatever k is.""")
wrong("times_k", lambda k, d_model: k * blocks(1, d_model))("""
    multiplies the matrix by k
    You multiply the matrix of one step by k. Steps follow one another, so multiply the *angle* by k, or raise the
    matrix to the k-th power.""")


@shift_matrix.mistake("is made for sines and cosines in halves")
def rotation_in_halves(k, d_model):
    """This is right for an encoding with all sines on the left and all cosines on the right. Here sines and cosines
    alternate, so each rotation is in two neighbouring rows and columns."""
    refuse_odd(d_model)
    order = np.concatenate([np.arange(0, d_model, 2), np.arange(1, d_model, 2)])
    return blocks(k, d_model)[np.ix_(order, order)]


@shift_matrix.mistake("moves the columns")
def rolled_columns(k, d_model):
    """Your matrix moves *features* k columns on. It should return the row of another position, with each feature in its
    own place."""
    refuse_odd(d_model)
    return np.roll(np.eye(d_model), k, axis=1)


@shift_matrix.mistake("lets an odd width pass")
def odd_passes(k, d_model):
    """For an odd d_model you leave the last sine where it is. But this sine changes with the position, and no matrix
    can compute its new value without its cosine. Raise ValueError."""
    matrix = np.eye(d_model)
    even = d_model - d_model % 2
    for j in range(0, even, 2):
        angle = k / 10000.0 ** (j / d_model)
        matrix[j : j + 2, j : j + 2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    return matrix


wrong("shift_too_fast", blocks, base=1e-4)("""
    multiplies where it should divide
    You multiply k by the power of 10000 instead of dividing. The first pair is right, but the slow pairs turn far too
    fast. The matrix must turn each pair as fast as the encoding does.""")
wrong("shift_double_exponent", blocks, base=1e8)("""
    has a double exponent
    The first column of a pair already counts in twos, and you double it once more. The exponent is this column over
    d_model, as in the encoding.""")


@shift_matrix.mistake("divides the negative exponent with `//`")
def shift_negative_floor(k, d_model):
    """`-np.arange(0, d_model, 2) // d_model` rounds *down*: the exponent is 0 for the first pair and -1 for all others,
    so only the first pair is right. Divide with `/`."""
    slow = blocks(k / 10000.0, d_model, base=1.0)
    slow[:2] = blocks(k, d_model, base=1.0)[:2]
    return slow


@shift_matrix.equivalent
def block_after_block(k, d_model):
    return blocks(k, d_model)


@shift_matrix.equivalent
def power_of_one_step(k, d_model):
    return np.linalg.matrix_power(blocks(1, d_model), k)


@shift_matrix.equivalent
def from_the_encoding_s_row(k, d_model):
    refuse_odd(d_model)
    row = reference.sinusoidal_encoding(abs(k) + 1, d_model)[-1]
    sine, cosine = math.copysign(1, k) * row[0::2], row[1::2]
    turned = np.stack([cosine, -sine, sine, cosine], axis=-1).reshape(-1, 2, 2)
    return np.einsum("pq,pab->paqb", np.eye(d_model // 2), turned).reshape(d_model, d_model)
