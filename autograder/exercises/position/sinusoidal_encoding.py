"""sinusoidal_encoding: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.position.shared import angles_of, taking_turns
from solutions import position as reference

sinusoidal_encoding = Exercise(
    reference.sinusoidal_encoding,
    outputs={"encoding": "T d_model"},
    section="Clocks of many speeds",
)


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


@sinusoidal_encoding.mistake("takes 1000 for 10000")
def base_1000(length, d_model):
    """The base is 1000, but should be 10000. The first pair is right, since any base to the power 0 is 1, but the slow
    pairs turn up to ten times too fast. Entries differ by up to 2."""
    return taking_turns(angles_of(length, d_model, base=1000.0), d_model)


@sinusoidal_encoding.mistake("has i/d where 2i/d belongs")
def half_exponent(length, d_model):
    """The exponent is the number of the pair over d_model. It should be twice that, the column of the pair's sine. As
    it stands, the wavelengths end near 100 times 2 pi, not 10000 times."""
    return taking_turns(angles_of(length, d_model, base=100.0), d_model)


@sinusoidal_encoding.mistake("has a double exponent")
def double_exponent(length, d_model):
    """The column number already counts in twos: the 2i of the formula *is* the column of the sine. You double it once
    more, so each frequency is the square of what it should be."""
    return taking_turns(angles_of(length, d_model, base=1e8), d_model)


@sinusoidal_encoding.mistake("gives each column a speed of its own")
def speed_per_column(length, d_model):
    """The cosines have the exponent (2i + 1)/d_model. Sine and cosine of a pair must share one angle: only then are
    they the coordinates of a hand on a clock, and a shift a rotation."""
    return taking_turns(np.arange(length)[:, None] / 10000.0 ** (np.arange(d_model) / d_model), d_model)


@sinusoidal_encoding.mistake("puts all sines first, then all cosines")
def in_halves(length, d_model):
    """The right numbers in another order: sines in the left half, cosines in the right. A model trained with this order
    works as well, since the order of features does not matter. But weights from a model with the paper's order do not
    fit. In this book sines and cosines take turns."""
    encoding = reference.sinusoidal_encoding(length, d_model)
    return np.concatenate([encoding[:, 0::2], encoding[:, 1::2]], axis=1)


@sinusoidal_encoding.mistake("swaps sine and cosine")
def swapped(length, d_model):
    """Your cosines are in the even columns and your sines in the odd ones. Position 0 should read 0, 1, 0, 1, ..."""
    return taking_turns(angles_of(length, d_model), d_model, even=np.cos, odd=np.sin)


@sinusoidal_encoding.mistake("counts positions from 1")
def from_one(length, d_model):
    """Your first row is that of position 1. Every distance is still right, but weights trained with positions from 0
    do not fit. The first row should read 0, 1, 0, 1, ..."""
    return taking_turns(angles_of(length, d_model, first=1), d_model)


@sinusoidal_encoding.mistake("multiplies where it should divide")
def too_fast(length, d_model):
    """You multiply the position by the power of 10000 instead of dividing. The hands then race round many times between
    two positions, and neighbours look unrelated."""
    return taking_turns(angles_of(length, d_model, base=1e-4), d_model)


@sinusoidal_encoding.mistake("stretches the wavelengths to reach the end")
def with_endpoint(length, d_model):
    """The last pair has the wavelength 10000 times 2 pi exactly, so you divide by one pair fewer than there are. Some
    libraries do. The paper's formula stops one step before."""
    pair = np.arange(d_model) // 2
    return taking_turns(np.arange(length)[:, None] / 10000.0 ** (pair / max(1, pair[-1])), d_model)


@sinusoidal_encoding.mistake("crashes when d_model is odd")
def even_only(length, d_model):
    """There are as many sines as even columns and as many cosines as odd ones: for an odd d_model, one cosine fewer.
    Filling both with the same number fails there. Cut off the cosine that does not fit."""
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


@sinusoidal_encoding.mistake("rounds an odd width up, and cuts")
def cut_from_even(length, d_model):
    """For an odd d_model you make one column more and cut it off. Then the exponents are divided by d_model + 1, which
    is nearly right, but exactly right only in the first two columns. Divide by the width that the caller wants."""
    return reference.sinusoidal_encoding(length, d_model + d_model % 2)[:, :d_model]


@sinusoidal_encoding.mistake("drops the last column of an odd width")
def column_lost(length, d_model):
    """An odd d_model loses its last sine: the encoding is one column narrower than the embeddings to which the model
    adds it."""
    return reference.sinusoidal_encoding(length, d_model)[:, : d_model - d_model % 2]


@sinusoidal_encoding.mistake("doubles the column number")
def doubled_per_column(length, d_model):
    """Column c has the exponent 2c/d_model, odd columns too. In the formula 2i *is* the column of the sine, and its
    cosine shares it: the exponent of column c is (c - c % 2)/d_model. In your code the frequencies of the sines are
    squared, and no sine has the cosine that belongs to it."""
    return taking_turns(np.arange(length)[:, None] / 10000.0 ** (2 * np.arange(d_model) / d_model), d_model)


@sinusoidal_encoding.mistake("turns all pairs at one speed")
def one_speed(length, d_model):
    """Every column turns by one radian per position: the exponent is 0 throughout, as after an integer division in `2 *
    i // d_model` or in `math.log(10000) / d_model // 2`. Divide by d_model last, and with `/`."""
    return taking_turns(angles_of(length, d_model, base=1.0), d_model)


@sinusoidal_encoding.mistake("rounds the rate down to a whole number")
def rate_rounded_down(length, d_model):
    """`-math.log(10000) / d_model // 2` divides by d_model and *then* by 2, rounding down: the rate is a whole number,
    -1 for every width above 4, and each pair is e^2 times as slow as the one before. Divide by d_model once, as the
    columns 0, 2, 4, ... count in twos already."""
    column = np.arange(d_model)
    angles = np.arange(length)[:, None] * np.exp((column - column % 2) * (-math.log(10000.0) / d_model // 2))
    return taking_turns(angles, d_model)


@sinusoidal_encoding.mistake("exchanges base and exponent")
def base_for_exponent(length, d_model):
    """You take (2i/d_model) to the power of 1/10000, which is nearly 1 for every pair but the first, so nearly all turn
    at one speed. 10000 is the base: 10000 to the power of 2i/d_model."""
    column = np.arange(d_model)
    return taking_turns(np.arange(length)[:, None] * ((column - column % 2) / d_model) ** 1e-4, d_model)


@sinusoidal_encoding.mistake("has zeros for position 0")
def zero_row(length, d_model):
    """The first row is zero throughout. Position 0 is a position like the others: its sines are 0, and its cosines
    1."""
    encoding = reference.sinusoidal_encoding(length, d_model)
    encoding[0] = 0
    return encoding


@sinusoidal_encoding.mistake("has sines everywhere")
def sine_everywhere(length, d_model):
    """Both columns of a pair are the sine of its angle, so one of them is redundant, and no pair is a hand on a clock.
    The odd columns are cosines."""
    return taking_turns(angles_of(length, d_model), d_model, odd=np.sin)


@sinusoidal_encoding.mistake("leaves the odd columns empty")
def no_cosines(length, d_model):
    """The sines are right, but the odd columns were never filled. Each sine is followed by the cosine of the same
    angle."""
    return taking_turns(angles_of(length, d_model), d_model, odd=np.zeros_like)


@sinusoidal_encoding.mistake("puts sines before cosines, and stretches to the end")
def halves_to_the_end(length, d_model):
    """All sines are on the left and all cosines on the right, and the last pair reaches 10000 exactly: this is the
    encoding of a well-known library, not the paper's. Sines and cosines take turns, and the exponent is 2i/d_model."""
    half = d_model // 2
    angles = np.arange(length)[:, None] / 10000.0 ** (np.arange(half) / max(1, half - 1))
    return np.concatenate([np.sin(angles), np.cos(angles), np.zeros((length, d_model % 2))], axis=1)


@sinusoidal_encoding.mistake("divides the negative exponent with `//`")
def negative_floor(length, d_model):
    """`-np.arange(0, d_model, 2) // d_model` rounds *down*: the exponent is 0 for the first pair and -1 for all others,
    so only the first pair is right. Divide with `/`."""
    column = np.arange(d_model)
    return taking_turns(np.arange(length)[:, None] * 10000.0 ** (-(column - column % 2) // d_model), d_model)


@sinusoidal_encoding.mistake("divides the doubled column number with `//`")
def doubled_floor(length, d_model):
    """`2 * column // d_model` rounds down to 0 in the left half of the columns and to 1 in the right half, so there are
    only two speeds. Divide the column of the pair's sine by d_model, with `/`."""
    return taking_turns(np.arange(length)[:, None] / 10000.0 ** (2 * np.arange(d_model) // d_model), d_model)


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
