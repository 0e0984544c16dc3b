"""A small exercise for tests, with every part that an exercise can have."""

import numpy as np
import pytest

from autograder.authoring.exercise import UNJUDGED, Exercise
from autograder.authoring.make_key import make_key


def normalised(x):
    """Return the rows of x divided by their sums, and x as the cache."""
    if x.shape[-1] == 0:
        raise ValueError("empty rows")
    return x / x.sum(axis=-1, keepdims=True), x


def make_exercise():
    exercise = Exercise(normalised, outputs={"shares": "... rows n", "cache": UNJUDGED}, section="Shares")

    @exercise.cases("the idea", points=2)
    def _(draw):
        rows, n = draw.sizes(2)
        yield "a matrix", {"x": np.abs(draw.normal(rows, n)) + 1}
        yield "a small matrix", {"x": np.array([[1.0, 3.0]])}

    @exercise.cases("float32", points=1)
    def _(draw):
        rows, n = draw.sizes(2)
        yield "single precision", {"x": np.abs(draw.normal(rows, n, dtype=np.float32)) + 1}

    @exercise.cases("errors", points=1)
    def _(draw):
        yield "empty rows", {"x": np.zeros((2, 0))}

    @exercise.mistake("divides by the whole sum")
    def whole_sum(x):
        """Each row has a sum of its own."""
        return x / x.sum(), x

    @exercise.mistake("divides by the column sum", reread="Rows & sums")
    def column_sum(x):
        """The last axis is the row."""
        return x / x.sum(axis=0), x

    @exercise.equivalent
    def loop(x):
        if not x.shape[-1]:
            raise ValueError
        return np.stack([row / row.sum() for row in x]), None

    return exercise


@pytest.fixture
def exercise():
    return make_exercise()


@pytest.fixture
def key(exercise):
    return make_key(exercise, seed=1)
