"""The same code earns the same points with every seed, and grading gives what home promises."""

import numpy as np
import pytest

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.authoring.luck import decided_by_luck
from autograder.layout import chapter_names

pytestmark = pytest.mark.autograder

EVERY = [exercise for chapter in chapter_names() for exercise in exercises_of(chapter)]
ONE_OF_EACH_KIND = ("attention_backward", "tests_split_heads", "looks_back", "diagnose_decoder", "predicted_gradients")
THOROUGH = pytest.mark.thorough("more seeds, and the other exercises")


@pytest.mark.parametrize(
    ("exercise", "n_seeds"),
    [pytest.param(exercise, 3, id=f"3-{exercise.name}") for exercise in EVERY if exercise.name in ONE_OF_EACH_KIND]
    + [pytest.param(exercise, 30, id=f"30-{exercise.name}", marks=THOROUGH) for exercise in EVERY],
)
def test_no_seed_decides_about_points(exercise, n_seeds):
    assert list(decided_by_luck(exercise, range(n_seeds))) == []


def test_a_mistake_that_some_seeds_catch_is_found():
    exercise = Exercise(largest, outputs={"largest": ""}, section="Largest")

    @exercise.cases("a drawn order", points=2)
    def _(draw):
        yield "two numbers", {"x": draw.rng.permutation(np.array([1.0, 2.0]))}

    @exercise.cases("a built order", points=1)
    def _(draw):
        yield "falling", {"x": np.array([2.0, 1.0])}

    @exercise.mistake("takes the last")
    def last(x):
        """The last number need not be the largest one."""
        return x[-1]

    @exercise.equivalent
    def by_sorting(x):
        return np.sort(x)[-1]

    assert list(decided_by_luck(exercise, [])) == []
    assert list(decided_by_luck(exercise, range(8))) == [
        "largest: last earns 0 + 0 at home, and 0 + 0 or 2 + 0 in grading"
    ]


def largest(x):
    """Return the largest number."""
    return x.max()
