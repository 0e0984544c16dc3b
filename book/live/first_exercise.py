"""The exercise of the front page: the softmax of three scores. It belongs to no chapter and is not graded."""

from collections.abc import Iterator

import numpy as np

from autograder.authoring.exercise import Draw, Exercise
from autograder.authoring.make_key import PUBLIC_SEED, full_key
from autograder.layout import chapter_names
from autograder.release.bundle import check_files, zipped
from check.key import to_bytes

CHAPTER = chapter_names()[0]  # this chapter explains the exercise
SETUP = "import numpy as np"

Cases = Iterator[tuple[str, dict[str, np.ndarray]]]


def weights_of_three(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum()


EXERCISE = Exercise(
    weights_of_three,
    outputs={"weights": "three"},
    section="From scores to weights: the softmax",
)


@EXERCISE.cases("the weights", points=2)
def _(draw: Draw) -> Cases:
    yield "three scores", {"scores": np.array([2.0, 1.0, -1.0])}
    yield "three other scores", {"scores": draw.normal(3)}


@EXERCISE.cases("equal and negative scores", points=1)
def _(draw: Draw) -> Cases:
    yield "three equal scores", {"scores": np.full(3, 1.5)}
    yield "three negative scores", {"scores": -1 - np.abs(draw.normal(3))}


@EXERCISE.mistake("does not divide by the sum")
def unnormalised(scores: np.ndarray) -> np.ndarray:
    """These are the exponentials themselves. All of them are positive, but they do not add up to one yet. Divide them
    by their sum."""
    return np.exp(scores)


@EXERCISE.mistake("divides the scores by their sum, without the exponential")
def plain_shares(scores: np.ndarray) -> np.ndarray:
    """A score may be negative, and its share would be negative too. Take the exponential of each score first: it is
    positive for every score."""
    return scores / scores.sum()


@EXERCISE.mistake("divides by the sum of the scores")
def divided_by_the_scores(scores: np.ndarray) -> np.ndarray:
    """The exponentials are right, but you divide them by the sum of the *scores*. The weights add up to one only if you
    divide by the sum of the exponentials."""
    return np.exp(scores) / scores.sum()


@EXERCISE.mistake("divides by the largest, not by the sum")
def divided_by_the_largest(scores: np.ndarray) -> np.ndarray:
    """The largest weight is exactly 1, so nothing is left for the other two. Divide by the sum of all three
    exponentials."""
    return np.exp(scores) / np.exp(scores).max()


@EXERCISE.mistake("divides by the mean, not by the sum")
def divided_by_the_mean(scores: np.ndarray) -> np.ndarray:
    """The three weights add up to three, because you divide by the mean of the exponentials. Divide by their sum."""
    return np.exp(scores) / np.exp(scores).mean()


@EXERCISE.mistake("gives the smallest score the largest weight")
def reversed_order(scores: np.ndarray) -> np.ndarray:
    """The minus sign reverses the order: exp(-score) is large for a small score. Leave the sign out."""
    return np.exp(-scores) / np.exp(-scores).sum()


@EXERCISE.mistake("gives the whole weight to the largest score")
def only_the_largest(scores: np.ndarray) -> np.ndarray:
    """You choose one score, and the other two have no weight at all. The softmax is softer: the largest score gets the
    most, and every other score still gets something."""
    return (scores == scores.max()).astype(scores.dtype)


@EXERCISE.mistake("raises 2 to each score, not e")
def powers_of_two(scores: np.ndarray) -> np.ndarray:
    """The weights are positive and add up to one, but they differ less than they should, because 2 is smaller than e.
    Write np.exp(scores)."""
    return 2**scores / (2**scores).sum()


@EXERCISE.mistake("returns the logarithms of the weights")
def logarithms(scores: np.ndarray) -> np.ndarray:
    """These numbers are the logarithms of the weights, so none of them is positive. Return the weights themselves."""
    return scores - np.log(np.exp(scores).sum())


def bundle() -> bytes:
    """Return the zip file that the front page unpacks for its Python: `check` and the answer key."""
    return zipped(check_files() | {f"check/keys/{EXERCISE.name}.npz": to_bytes(full_key(EXERCISE, PUBLIC_SEED))})
