"""repaired_add_positions: its cases, its known mistakes and its right rewrites."""

import math

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.position.sinusoidal_encoding import by_exponentials, cosine_as_a_late_sine
from solutions import position as reference

repaired_add_positions = Exercise(
    reference.repaired_add_positions,
    outputs={"output": "... T d_model"},
    section="Find the bug",
)


def vectors(draw, *batch, odd=0, dtype=np.float64):
    T, pairs = draw.sizes(2, low=3, high=8)
    return {"x": draw.normal(*batch, T, 2 * pairs + odd, dtype=dtype)}


@repaired_add_positions.cases("even widths", points=2)
def _(draw):
    yield "one sentence", vectors(draw)
    yield "two batch axes", vectors(draw, 2, 3)


@repaired_add_positions.cases("odd widths", points=1)
def _(draw):
    yield "an odd width", vectors(draw, odd=1)
    yield "an odd width, a batch", vectors(draw, 2, odd=1)


@repaired_add_positions.cases("float32", points=1)
def _(draw):
    yield "float32", vectors(draw, 2, dtype=np.float32)


def published(x, base=10000.0, odd=True, copy=True):
    """The function of the hunt, each of its three mistakes mended or not."""
    x = x.copy() if copy else x
    length, d_model = x.shape[-2:]
    for p in range(length):
        for i in range(0, d_model, 2):
            angle = p / base ** (i / d_model)
            x[..., p, i] += math.sin(angle)
            if i + 1 < d_model or not odd:
                x[..., p, i + 1] += math.cos(angle)
    return x


@repaired_add_positions.mistake("nothing is mended yet", reread="Clocks of many speeds")
def as_published(x):
    """All three mistakes are still there. Compare the numbers with the formula first, from the third column on."""
    return published(x, base=1000.0, odd=False, copy=False)


@repaired_add_positions.mistake("the base is mended; two mistakes are left", reread="Clocks of many speeds")
def base_mended(x):
    """The numbers are right now. Two mistakes are left: one shows when d_model is odd, the other in the caller's
    array after the call."""
    return published(x, odd=False, copy=False)


@repaired_add_positions.mistake("odd widths are mended; two mistakes are left", reread="Clocks of many speeds")
def odd_mended(x):
    """Odd widths no longer crash. Two mistakes are left: compare the numbers with the formula, and look at the
    caller's array after the call."""
    return published(x, base=1000.0, copy=False)


@repaired_add_positions.mistake("the caller's array is safe; two mistakes are left", reread="Clocks of many speeds")
def copy_mended(x):
    """The caller's array is left alone now. Two mistakes are left: compare the numbers with the formula, and try an
    odd width."""
    return published(x, base=1000.0, odd=False)


@repaired_add_positions.mistake("almost: the caller's array is written into", reread="What enters the first layer")
def only_copy_left(x):
    """What is left is the caller's array: `+=` writes into x. Call the function twice with the same array, and the
    second result has its positions twice."""
    return published(x, copy=False)


@repaired_add_positions.mistake("almost: odd widths crash", reread="Clocks of many speeds")
def only_odd_left(x):
    """What is left: for an odd d_model the last sine has no cosine, and the column after it does not exist."""
    return published(x, odd=False)


@repaired_add_positions.mistake("almost: the base is 1000", reread="Clocks of many speeds")
def only_base_left(x):
    """What is left is in the numbers: the first pair is right and all others turn too fast. Look at the base."""
    return published(x, base=1000.0)


@repaired_add_positions.mistake("almost: float32 comes back as float64", reread="What enters the first layer")
def sum_promoted(x):
    """What is left is the dtype: a new sum with a float64 encoding is float64, but writing into x kept x's dtype."""
    return published(x).astype(np.float64)


@repaired_add_positions.equivalent
def smallest_repair(x):
    return published(x)


@repaired_add_positions.equivalent
def with_a_new_encoding(x):
    return (x + cosine_as_a_late_sine(*x.shape[-2:])).astype(x.dtype)


@repaired_add_positions.equivalent
def added_to_a_copy(x):
    output = np.array(x)
    output += by_exponentials(*x.shape[-2:])
    return output
