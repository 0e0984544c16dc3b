"""predicted_squared_lengths: its cases and known mistakes."""

import math

from autograder.authoring.exercise import Exercise
from solutions import position as reference

predicted_squared_lengths = Exercise(
    reference.predicted_squared_lengths,
    outputs={"lengths": ""},
    section="Why the embeddings are scaled",
)


@predicted_squared_lengths.cases("the lengths", points=2)
def _(draw):
    d_model = 2 * draw.size(4, 9)
    yield "entries of variance one over d_model", {"d_model": d_model, "variance": 1 / d_model}
    yield "entries of variance 1", {"d_model": 2 * draw.size(10, 30), "variance": 1.0}
    yield "another variance", {"d_model": 2 * draw.size(2, 9), "variance": float(draw.rng.uniform(0.1, 0.6))}


def lengths(d_model, variance, scale=None, encoding=None):
    scaled = d_model * variance * (d_model if scale is None else scale)
    encoding = d_model / 2 if encoding is None else encoding
    return {"row": d_model * variance, "scaled": scaled, "encoding": encoding, "sum": scaled + encoding}


@predicted_squared_lengths.mistake("scales the squared length by the root")
def root_not_squared(d_model, variance):
    """The vector is multiplied by the root of d_model, so its *squared* length is multiplied by d_model."""
    return lengths(d_model, variance, scale=math.sqrt(d_model))


@predicted_squared_lengths.mistake("counts each column of the encoding as 1")
def encoding_counted_twice(d_model, variance):
    """Sine squared plus cosine squared is 1 for each *pair*, and there are half as many pairs as columns."""
    return lengths(d_model, variance, encoding=float(d_model))


@predicted_squared_lengths.mistake("adds lengths instead of their squares")
def triangle(d_model, variance):
    """For the sum you added the lengths and squared the result. The entries of the table have mean zero, so the mixed
    term of the square is zero in the mean, and the squares add up."""
    right = lengths(d_model, variance)
    return right | {"sum": (math.sqrt(right["scaled"]) + math.sqrt(right["encoding"])) ** 2}


@predicted_squared_lengths.mistake("takes one entry for the row")
def one_entry(d_model, variance):
    """The variance is the mean square of one entry; a row has d_model of them."""
    right = lengths(d_model, variance)
    return right | {"row": variance, "scaled": d_model * variance, "sum": d_model * variance + d_model / 2}


@predicted_squared_lengths.mistake("adds the encoding to the row as it stands", reread="What enters the first layer")
def sum_with_the_row(d_model, variance):
    """Your sum is that of the encoding and the *unscaled* row. What enters the first layer is the scaled row plus the
    encoding."""
    right = lengths(d_model, variance)
    return right | {"sum": right["row"] + right["encoding"]}


@predicted_squared_lengths.mistake("takes one pair for the whole encoding")
def one_pair(d_model, variance):
    """Sine squared plus cosine squared is 1 for *one* pair, and a row of the encoding has d_model/2 pairs."""
    return lengths(d_model, variance, encoding=1.0)
