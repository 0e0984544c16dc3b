"""The judge looks at an answer only as far as the expected value goes, however large the answer is."""

import sys

import numpy as np
import pytest

from autograder.authoring.exercise import Exercise
from autograder.authoring.make_key import full_key
from check.calling import run
from check.scoring import grade

pytestmark = pytest.mark.autograder

MANY = 20_000


def parts(x):
    """Return 2 x + 1, and the sums of x under two names."""
    return {"rows": 2.0 * x + 1.0, "sums": {"first": x.sum(axis=0), "last": x.sum(axis=-1)}}


@pytest.fixture(scope="module")
def key():
    exercise = Exercise(parts, outputs={"parts": ""}, section="Rows")

    @exercise.cases("the idea", points=1)
    def _(draw):
        for name in ("one", "another"):
            yield name, {"x": draw.normal(3, 4)}

    return full_key(exercise, seed=5)


LARGE = {
    "a dict": lambda right: dict.fromkeys(map(str, range(MANY)), 1.0),
    "a dict with the right names, too": lambda right: right | dict.fromkeys(map(str, range(MANY)), 1.0),
    "a dict of dicts": lambda right: {str(n): {"first": 1.0} for n in range(MANY)},
    "long names": lambda right: {str(n) * 20: 1.0 for n in range(MANY)},
    "a dict in it": lambda right: right | {"sums": dict.fromkeys(map(str, range(MANY)), 1.0)},
    "a dict in it, after wrong values": lambda right: {
        "rows": right["rows"] / 3.0,
        "sums": dict.fromkeys(map(str, range(MANY)), 1.0),
    },
    "a list in it, after wrong values": lambda right: {"rows": right["rows"] / 3.0, "sums": [1.0] * MANY},
    "dicts in place of arrays, after wrong values": lambda right: {
        "rows": right["rows"] / 3.0,
        "sums": dict.fromkeys(right["sums"], dict.fromkeys(map(str, range(MANY)), 1.0)),
    },
}


def number_of_calls(key, answer):
    """Return how many functions the judge calls for an answer, including those of Python and NumPy."""
    outcomes = [run(answer, case.inputs) for case in key.cases]
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        result = grade(key, outcomes)
    finally:
        sys.setprofile(before)
    assert not result.passed
    return calls


@pytest.mark.parametrize("name", LARGE)
def test_a_large_answer_costs_no_more_than_a_wrong_one(key, name):
    assert len(key.slips) > 2  # this makes the slips, so that the count does not include them
    wrong = number_of_calls(key, lambda x: parts(x) | {"rows": np.tanh(x)})
    assert number_of_calls(key, lambda x: LARGE[name](parts(x))) <= wrong
