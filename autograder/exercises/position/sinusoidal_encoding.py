import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from autograder.exercises.position.shared import angles_of, taking_turns
from solutions import position as reference

sinusoidal_encoding = Exercise(
    reference.sinusoidal_encoding, outputs={"encoding": "T d_model"}, section="Clocks of many speeds"
)
wrong = short_mistakes(sinusoidal_encoding)
changed = changing(reference.sinusoidal_encoding)


@sinusoidal_encoding.cases("even widths", points=2)
def _(draw):
    length, pairs = draw.sizes(2, low=3, high=9)
    yield "a few positions", {"length": length, "d_model": 2 * pairs}
    length, pairs = draw.sizes(2, low=20, high=40)
    yield "more of them, and wider", {"length": length, "d_model": 2 * pairs}


@sinusoidal_encoding.cases("odd widths", points=1)
def _(draw):
    length, pairs = draw.sizes(2, low=3, high=9)
    yield "an odd width", {"length": length, "d_model": 2 * pairs + 1}
    yield "a single column", {"length": length, "d_model": 1}


@sinusoidal_encoding.cases("edge cases", points=1)
def _(draw):
    yield "one position", {"length": 1, "d_model": 2 * draw.size(2, 6)}
    yield "one pair", {"length": draw.size(4, 9), "d_model": 2}
    yield "a long text", {"length": draw.size(900, 1100), "d_model": 4}


def encoded(length, d_model, *, base=10000.0, first=0, even=np.sin, odd=np.cos):
    return taking_turns(angles_of(length, d_model, base, first), d_model, even, odd)


def with_exponents(length, d_model, *, exponents):
    """Return the encoding with other exponents, a function of d_model."""
    return taking_turns(np.arange(length)[:, None] / 10000.0 ** exponents(d_model), d_model)


def with_speeds(length, d_model, *, speeds):
    """Return the encoding with other speeds, a function of the column of each pair's sine and of d_model."""
    sines = np.arange(d_model) // 2 * 2
    return taking_turns(np.arange(length)[:, None] * speeds(sines, d_model), d_model)


@sinusoidal_encoding.mistake("takes 1000 for 10000")
def base_1000(length, d_model):
    """Your base is 1000, but should be 10000. The first pair is right, because any base to the power 0 is 1, but the
    slow pairs turn up to ten times too fast. Entries differ by up to 2."""
    return taking_turns(angles_of(length, d_model, base=1000.0), d_model)


wrong("half_exponent", encoded, base=100.0)("""
    has i/d where 2i/d belongs
    Your exponent is the number of the pair over d_model. It should be twice that: the column of the pair's sine over
    d_model. Your wavelengths end near 100 times 2 pi, not 10000 times 2 pi.""")
wrong("double_exponent", encoded, base=1e8)("""
    has a double exponent
    The column number already counts in twos: the 2i of the formula *is* the column of the sine. You double it once
    more, so each frequency is the square of what it should be.""")
wrong("speed_per_column", with_exponents, exponents=lambda d_model: np.arange(d_model) / d_model)("""
    gives each column a speed of its own
    Your cosines have the exponent (2i + 1)/d_model. The sine and cosine of a pair must share one angle: only then are
    they the coordinates of a hand on a clock, and only then is a shift a rotation.""")
wrong("in_halves", changed, change=lambda encoding: np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1))("""
    puts all sines first, then all cosines
    Your numbers are right, but in a different order: sines in the left half, cosines in the right. A model trained with
    this order works as well, because the order of features does not matter. But weights from a model with the paper's
    order do not fit. In this book sines and cosines take turns.""")
wrong("swapped", encoded, even=np.cos, odd=np.sin)("""
    swaps sine and cosine
    Your cosines are in the even columns, and your sines are in the odd columns. Position 0 should read 0, 1, 0, 1,
    ...""")
wrong("from_one", encoded, first=1)("""
    counts positions from 1
    Your first row is that of position 1. Every distance is still right, but weights trained with positions from 0 do
    not fit. The first row should read 0, 1, 0, 1, ...""")
wrong("too_fast", encoded, base=1e-4)("""
    multiplies where it should divide
    You multiply the position by the power of 10000 instead of dividing. The hands then turn many times between two
    positions, and neighbours look unrelated.""")
wrong(
    "with_endpoint", with_exponents, exponents=lambda d_model: np.arange(d_model) // 2 / max(1, (d_model - 1) // 2)
)("""
    stretches the wavelengths to reach the end
    Your last pair has the wavelength 10000 times 2 pi exactly, because you divide by the number of pairs minus one, as
    some libraries do. The paper's formula stops one step before.""")


@sinusoidal_encoding.mistake("crashes when d_model is odd")
def even_only(length, d_model):
    """The encoding has a sine for each even column and a cosine for each odd column. For an odd d_model, it has one
    cosine fewer, so filling both with the same number fails. Cut off the cosine that does not fit."""
    angles = angles_of(length, d_model)[:, 0::2]
    encoding = np.zeros((length, d_model))
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles)
    return encoding


@sinusoidal_encoding.mistake("crashes when d_model is odd")
def pairs_only(length, d_model):
    """You go through the columns two by two, a sine and the cosine after it. The last sine of an odd d_model has no
    column after it, and the index is out of bounds. Write the cosine only where there is room."""
    encoding = np.zeros((length, d_model))
    for column, angles in list(enumerate(angles_of(length, d_model).T))[::2]:
        encoding[:, column], encoding[:, column + 1] = np.sin(angles), np.cos(angles)
    return encoding


wrong(
    "cut_from_even", lambda length, d_model: reference.sinusoidal_encoding(length, d_model + d_model % 2)[:, :d_model]
)("""
    rounds an odd width up, and cuts
    For an odd d_model you make one column more and cut it off. So you divide the exponents by d_model + 1, which is
    nearly right, but exactly right only in the first two columns. Divide by the width that the caller wants.""")
wrong(
    "column_lost", lambda length, d_model: reference.sinusoidal_encoding(length, d_model)[:, : d_model - d_model % 2]
)("""
    drops the last column of an odd width
    For an odd d_model you drop the last sine, so the encoding is one column narrower than the embeddings to which the
    model adds it.""")
wrong("doubled_per_column", with_exponents, exponents=lambda d_model: 2 * np.arange(d_model) / d_model)("""
    doubles the column number
    Your column c has the exponent 2c/d_model, even if c is odd. In the formula, 2i *is* the column of the sine, and the
    cosine has the same exponent: that of column c is (c - c % 2)/d_model. In your code the frequencies of the sines are
    squared, and no sine has its own cosine.""")
wrong("one_speed", encoded, base=1.0)("""
    turns all pairs at one speed
    Every column turns by one radian per position, because the exponent is 0 throughout, as after an integer division in
    `2 * i // d_model` or in `math.log(10000) / d_model // 2`. Divide by d_model last, and with `/`.""")
wrong(
    "rate_rounded_down", with_speeds, speeds=lambda sines, d_model: np.exp(sines * (-math.log(10000.0) / d_model // 2))
)("""
    rounds the rate down to a whole number
    `-math.log(10000) / d_model // 2` divides by d_model and *then* by 2, rounding down. So the rate is a whole number,
    -1 for every width above 4, and each pair is e^2 times as slow as the pair before. Divide by d_model only, because
    the columns 0, 2, 4, ... already count in twos.""")
wrong("base_for_exponent", with_speeds, speeds=lambda sines, d_model: (sines / d_model) ** 1e-4)("""
    exchanges base and exponent
    You take (2i/d_model) to the power of 1/10000, which is nearly 1 for every pair but the first, so nearly all pairs
    turn at one speed. The base is 10000: take 10000 to the power of 2i/d_model.""")


@sinusoidal_encoding.mistake("has zeros for position 0")
def zero_row(length, d_model):
    """The first row is zero throughout. Position 0 is a position like the others: its sines are 0, and its cosines are
    1."""
    encoding = reference.sinusoidal_encoding(length, d_model)
    encoding[0] = 0
    return encoding


wrong("sine_everywhere", encoded, odd=np.sin)("""
    has sines everywhere
    Both columns of a pair are the sine of its angle, so one of them is redundant, and no pair is a hand on a clock.
    Make the odd columns cosines.""")
wrong("no_cosines", encoded, odd=np.zeros_like)("""
    leaves the odd columns empty
    The sines are right, but you never fill the odd columns. Put the cosine of the same angle after each sine.""")


@sinusoidal_encoding.mistake("puts sines before cosines, and stretches to the end")
def halves_to_the_end(length, d_model):
    """Your sines are all on the left and your cosines on the right, and the last pair reaches 10000 exactly. This is
    the encoding of a well-known library, not the paper's. Sines and cosines alternate, and the exponent is
    2i/d_model."""
    half = d_model // 2
    angles = np.arange(length)[:, None] / 10000.0 ** (np.arange(half) / max(1, half - 1))
    return np.concatenate([np.sin(angles), np.cos(angles), np.zeros((length, d_model % 2))], axis=1)


wrong("negative_floor", with_speeds, speeds=lambda sines, d_model: 10000.0 ** (-sines // d_model))("""
    divides the negative exponent with `//`
    `-np.arange(0, d_model, 2) // d_model` rounds *down*: the exponent is 0 for the first pair and -1 for all others, so
    only the first pair is right. Divide with `/`.""")
wrong("doubled_floor", with_exponents, exponents=lambda d_model: 2 * np.arange(d_model) // d_model)("""
    divides the doubled column number with `//`
    `2 * column // d_model` rounds down to 0 in the left half of the columns and to 1 in the right half, so there are
    only two speeds. Divide the column of the pair's sine by d_model, with `/`.""")


@sinusoidal_encoding.equivalent
def entry_by_entry(length, d_model):
    encoding = np.zeros((length, d_model))
    for p in range(length):
        for j in range(d_model):
            angle = p / 10000 ** (2 * (j // 2) / d_model)
            encoding[p, j] = math.cos(angle) if j % 2 else math.sin(angle)
    return encoding


@sinusoidal_encoding.equivalent
def by_exponentials(length, d_model):
    rate = np.exp(np.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    hands = np.exp(1j * np.outer(np.arange(length), rate))
    return np.stack([hands.imag, hands.real], axis=-1).reshape(length, -1)[:, :d_model]


@sinusoidal_encoding.equivalent
def cosine_as_a_late_sine(length, d_model):
    return np.sin(angles_of(length, d_model) + np.pi / 2 * (np.arange(d_model) % 2))
