import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from solutions import position as reference

rotate = Exercise(reference.rotate, outputs={"rotated": "... T d_key"}, section="Rotary positions")
wrong = short_mistakes(rotate)


def rows_to_rotate(draw, *batch, first=0, dtype=np.float64, name="x"):
    """Return rows of at least six columns, and one position after the other."""
    T, pairs = draw.sizes(2, low=3, high=7)
    return {name: draw.normal(*batch, T, 2 * pairs, dtype=dtype), "positions": first + np.arange(T)}


def cases_of_the_idea(draw, name="x"):
    yield "one sequence", rows_to_rotate(draw, name=name)
    yield "heads and a batch", rows_to_rotate(draw, 2, 8, name=name)


def cases_of_positions(draw, name="x"):
    yield "a later start", rows_to_rotate(draw, 7, first=draw.size(20, 40), name=name)
    yield "one row, far on", {name: draw.normal(2, 1, 6), "positions": np.array([draw.size(900, 1100)])}
    inputs = rows_to_rotate(draw, 8, first=1, name=name)
    yield "positions with gaps", inputs | {"positions": inputs["positions"][::-1] * draw.size(3, 6)}


def edge_cases(draw, name="x"):
    yield "float32", rows_to_rotate(draw, 2, dtype=np.float32, name=name)
    yield "one pair", {name: draw.normal(4, 2), "positions": np.arange(4) + draw.size(2, 6)}


@rotate.cases("queries and keys from position 0 on", points=2)
def _(draw):
    yield from cases_of_the_idea(draw)


@rotate.cases("other positions", points=1)
def _(draw):
    yield from cases_of_positions(draw)


@rotate.cases("float32 and edge cases", points=1)
def _(draw):
    yield from edge_cases(draw)


def pairs_of(x):
    """The first and the second column of each pair."""
    return x[..., 0::2], x[..., 1::2]


def neighbours(first, second, dtype):
    """Put the columns of each pair beside each other."""
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1).astype(dtype)


def speeds_of(d_key, base=10000.0, add=0.0):
    return base ** -((np.arange(0, d_key, 2) + add) / d_key)


def turned(x, angles, sign=1.0):
    """Turn pairs of neighbours by angles, one for each pair; with sign = -1 in the first column, a rotation."""
    a, b = pairs_of(x)
    return neighbours(a * np.cos(angles) - sign * b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles), x.dtype)


def at(positions, speeds):
    return positions[:, None] * speeds


@rotate.mistake("pairs column i with column i + d/2")
def rotated_halves(x, positions):
    """You pair each column of the left half with one of the right half. Many libraries do so, and weights that were
    trained that way need it. Here a pair is two neighbours, columns 2i and 2i + 1."""
    half = x.shape[-1] // 2
    angles = at(positions, speeds_of(x.shape[-1]))
    a, b = x[..., :half], x[..., half:]
    columns = [a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)]
    return np.concatenate(columns, axis=-1).astype(x.dtype)


@rotate.mistake("has the angles of neighbours, but partners from the other half")
def partners_from_the_other_half(x, positions):
    """Two conventions are mixed: columns 2i and 2i + 1 have the same angle, but the partner of each column is half a
    row away. Then no pair is rotated. The partner of column 2i is column 2i + 1."""
    half = x.shape[-1] // 2
    angles = np.repeat(at(positions, speeds_of(x.shape[-1])), 2, axis=-1)
    partner = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return (x * np.cos(angles) + partner * np.sin(angles)).astype(x.dtype)


@rotate.mistake("has partners that are neighbours, but angles in two halves")
def angles_in_halves(x, positions):
    """Two conventions are mixed: the partner of column 2i is column 2i + 1, but the angles are repeated half a row
    later (`np.tile`, or a concatenation). The two columns of a pair have the same angle: `np.repeat`."""
    angles = np.tile(at(positions, speeds_of(x.shape[-1])), 2)
    a, b = pairs_of(x)
    partner = neighbours(-b, a, x.dtype)
    return (x * np.cos(angles) + partner * np.sin(angles)).astype(x.dtype)


wrong("rotated_back", lambda x, positions: turned(x, -at(positions, speeds_of(x.shape[-1]))))("""
    turns the other way
    Each pair turns by minus its angle. The minus is in the first column of a pair: a cos - b sin. In this direction,
    too, a score depends only on the words and their distance, so training shows nothing. But the scores differ, and
    weights or cached keys made with the other direction do not fit.""")
wrong("rotated_without_minus", lambda x, positions: turned(x, at(positions, speeds_of(x.shape[-1])), sign=-1.0))("""
    has both signs plus
    Both sines have a plus. Then rows change their lengths, so this is not a rotation: the first column of a pair is a
    cos - b sin.""")
wrong("rotated_without_plus", lambda x, positions: turned(x, -at(positions, speeds_of(x.shape[-1])), sign=-1.0))("""
    has both signs minus
    Both sines have a minus. Then rows change their lengths, so this is not a rotation: the second column of a pair is a
    sin + b cos.""")


@rotate.mistake("swaps sine and cosine")
def sine_for_cosine(x, positions):
    """Sine and cosine are swapped. At position 0 nothing turns: the cosine is 1 there and the sine 0, so a column is
    multiplied by the cosine, and its partner by the sine."""
    a, b = pairs_of(x)
    angles = at(positions, speeds_of(x.shape[-1]))
    return neighbours(a * np.sin(angles) - b * np.cos(angles), a * np.cos(angles) + b * np.sin(angles), x.dtype)


@rotate.mistake("gives each column its own angle")
def angle_per_column(x, positions):
    """The two columns of a pair have different angles: column 2i + 1 turns more slowly than column 2i. A pair is one
    hand of a clock, so both columns have the speed 10000^(-2i / d_key)."""
    of_a, of_b = at(positions, speeds_of(x.shape[-1])), at(positions, speeds_of(x.shape[-1], add=1))
    a, b = pairs_of(x)
    return neighbours(a * np.cos(of_a) - b * np.sin(of_a), a * np.sin(of_b) + b * np.cos(of_b), x.dtype)


wrong("rotary_base_1000", lambda x, positions: turned(x, at(positions, speeds_of(x.shape[-1], base=1000.0))))("""
    takes 1000 for 10000
    The base is 1000. Only the first pair has the right speed then.""")
wrong("rotary_half_exponent", lambda x, positions: turned(x, at(positions, speeds_of(x.shape[-1], base=100.0))))("""
    has i/d where 2i/d belongs
    The exponent is the number of the pair over d_key. It should be twice that: the first column of the pair over
    d_key.""")
wrong("rotary_double_exponent", lambda x, positions: turned(x, at(positions, speeds_of(x.shape[-1], base=1e8))))("""
    has a double exponent
    `np.arange(0, d_key, 2)` already counts in twos, and you double it once more, or divide by half of d_key.""")
wrong(
    "rotary_linspace", lambda x, positions: turned(x, at(positions, 10000.0 ** -np.linspace(0, 1, x.shape[-1] // 2)))
)("""
    reaches 10000 with the last pair
    The exponents run from 0 to exactly 1, as `np.linspace(0, 1, d_key // 2)` makes them. Pair i has the exponent 2i /
    d_key, so the last one is a little below 1.""")
wrong("pairs_from_one", lambda x, positions: turned(x, at(positions, speeds_of(x.shape[-1], add=2))))("""
    counts the pairs from 1
    The first pair already turns more slowly than one radian for each position. The pairs count from 0, so the first has
    the exponent 0.""")
wrong("exponent_of_the_second_column", lambda x, positions: turned(x, at(positions, speeds_of(x.shape[-1], add=1))))("""
    takes the second column of a pair for the exponent
    The exponent of pair i is (2i + 1) / d_key. A formula with 2i - 1 counts its pairs from 1. Here they count from 0,
    and the exponent is 2i / d_key.""")
wrong("rotary_too_fast", lambda x, positions: turned(x, at(positions, speeds_of(x.shape[-1], base=1e-4))))("""
    multiplies where it should divide
    You multiply the position by the power of 10000 instead of dividing by it: the first pair is right, and the slow
    pairs race.""")
wrong("rotary_one_speed", lambda x, positions: turned(x, at(positions, speeds_of(x.shape[-1], base=1.0))))("""
    turns all pairs at one speed
    Every pair turns by one radian for each position. Only the first does; each pair has its own speed. An exponent
    divided with `//` can do the same.""")
wrong("positions_from_0", lambda x, positions: turned(x, at(np.arange(len(positions)), speeds_of(x.shape[-1]))))("""
    ignores the positions it gets
    The rows turn by 0, 1, 2 and so on, whatever `positions` says. A word that comes later, with earlier keys in a
    cache, would then stand at position 0.""")
wrong("rotary_from_one", lambda x, positions: turned(x, at(positions + 1, speeds_of(x.shape[-1]))))("""
    counts positions from 1
    A row at position p turns by the angles of position p + 1. Scores do not show it, because distances stay the same,
    but `positions` begin at 0, and a row at position 0 does not turn.""")


@rotate.mistake("numbers the heads, not the positions")
def heads_for_positions(x, positions):
    """The angle grows along the third axis from the end: with heads, the first head does not turn at all, and all
    positions of a head turn alike. Positions are the axis before the last."""
    if x.ndim == 2:
        return reference.rotate(x, positions)
    numbers = positions[:1] + np.arange(x.shape[-3])
    return turned(x, at(numbers, speeds_of(x.shape[-1]))[:, None])


@rotate.mistake("adds the encoding")
def encoding_added(x, positions):
    """You add a vector of sines and cosines to each row. That is the encoding of 2017. Here nothing is added: each
    pair of columns turns."""
    angles = at(positions, speeds_of(x.shape[-1]))
    return (x + neighbours(np.sin(angles), np.cos(angles), np.float64)).astype(x.dtype)


wrong("columns_in_halves", lambda x, positions: np.concatenate(pairs_of(reference.rotate(x, positions)), axis=-1))("""
    leaves the columns in two halves
    The pairs turn correctly, but the result has all first columns on the left and all second columns on the right. Put
    each column back where it came from: write to `[..., 0::2]` and `[..., 1::2]`, or stack along a new last axis and
    reshape.""")


@rotate.mistake("computes the second column from the first one's new value")
def new_value_used(x, positions):
    """You overwrite the first column of a pair and then use it for the second, which needs the old value. Compute both
    before you write either."""
    a, b = pairs_of(x)
    angles = at(positions, speeds_of(x.shape[-1]))
    new = a * np.cos(angles) - b * np.sin(angles)
    return neighbours(new, new * np.sin(angles) + b * np.cos(angles), x.dtype)


@rotate.mistake("leaves out the partner")
def partner_left_out(x, positions):
    """Each column is multiplied by a cosine, and its partner has no share. A turn mixes the two columns of a pair, and
    keeps their length."""
    return (x * np.repeat(np.cos(at(positions, speeds_of(x.shape[-1]))), 2, axis=-1)).astype(x.dtype)


wrong("rotary_promoted", lambda x, positions: reference.rotate(x, positions).astype(np.float64))("""
    turns float32 into float64
    The cosines are float64, and so is a product with them, whatever the dtype of x is. Convert them to the dtype of x.
    With float64 a model trains at half the speed, and its loss shows nothing.""")


@rotate.mistake("writes into x")
def written_into_x(x, positions):
    """The caller's x has changed: `x[..., 0::2]` is a view, and assigning to it writes into x. Make a new array."""
    x[...] = reference.rotate(x, positions)
    return x


@rotate.equivalent
def by_complex_numbers(x, positions):
    a, b = pairs_of(x)
    product = (a + 1j * b) * np.exp(1j * at(positions, speeds_of(x.shape[-1])))
    return neighbours(product.real, product.imag, x.dtype)


@rotate.equivalent
def pair_by_pair(x, positions):
    rotated, d_key = np.zeros_like(x), x.shape[-1]
    for t, p in enumerate(positions):
        for j in range(0, d_key, 2):
            c, s = np.cos(p / 10000 ** (j / d_key)), np.sin(p / 10000 ** (j / d_key))
            rotated[..., t, j] = x[..., t, j] * c - x[..., t, j + 1] * s
            rotated[..., t, j + 1] = x[..., t, j] * s + x[..., t, j + 1] * c
    return rotated


@rotate.equivalent
def by_shift_matrices(x, positions):
    matrices = np.array([reference.shift_matrix(-p, x.shape[-1]) for p in positions])
    return np.einsum("...ti,tij->...tj", x, matrices.reshape(-1, x.shape[-1], x.shape[-1])).astype(x.dtype)


@rotate.equivalent
def with_a_row_of_partners(x, positions):
    angles = np.repeat(at(positions, speeds_of(x.shape[-1])), 2, axis=-1)
    a, b = pairs_of(x)
    return (x * np.cos(angles) + neighbours(-b, a, x.dtype) * np.sin(angles)).astype(x.dtype)


@rotate.equivalent
def by_two_by_two_products(x, positions):
    angles = at(positions, speeds_of(x.shape[-1]))
    blocks = np.array([[np.cos(angles), np.sin(angles)], [-np.sin(angles), np.cos(angles)]])
    rows = x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2)
    return np.einsum("...tpi,ijtp->...tpj", rows, blocks).reshape(x.shape).astype(x.dtype)
