"""Exercises that ask for a prediction: the model prediction holds in every run that a case may ask for."""

import pytest

from autograder.authoring.exercise import Draw
from autograder.authoring.runs_to_order import runs_to_order
from autograder.exercises.residual import predicted_gradients as stacks
from autograder.exercises.training import predicted_final_losses as schedules
from check.predictions import predicted, right
from solutions.schedules import final_losses
from solutions.stacks import top_gradients
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

QUESTIONS = [
    *((stacks.predicted_gradients, top_gradients, runs) for runs in (
        stacks.by_depth, stacks.by_small_updates, stacks.by_large_updates
    )),
    *((schedules.predicted_final_losses, final_losses, runs) for runs in (
        schedules.by_smoothing, schedules.by_rate, schedules.by_long_warmup, schedules.by_high_rate
    )),
]  # fmt: skip


def drawn(seed, make, runs, *, reasons):
    draw = Draw(seed)
    return runs_to_order(draw, make, runs(draw), reasons=reasons)


@pytest.mark.parametrize(("exercise", "make", "runs"), QUESTIONS, ids=[runs.__name__ for *_, runs in QUESTIONS])
@pytest.mark.parametrize("seed", thinned(range(40), range(10), "more seeds"))
def test_every_right_prediction_holds_in_every_run(exercise, make, runs, seed):
    inputs = drawn(seed, make, runs, reasons=True)
    order, reasons, _ = right(inputs["made"], inputs["moved"], inputs["asks"])
    for predict in (exercise.reference, *exercise.equivalents.values()):
        found, named, sentence = predicted(predict(inputs["runs"]), **inputs)
        assert (found.tolist(), named.tolist(), sentence) == (order.tolist(), reasons.tolist(), "")


@pytest.mark.parametrize(("exercise", "make", "runs"), QUESTIONS, ids=[runs.__name__ for *_, runs in QUESTIONS])
def test_no_two_runs_are_close(exercise, make, runs):
    """What another machine rounds differently changes no order."""
    for seed in range(3):
        made = sorted(drawn(seed, make, runs, reasons=False)["made"])
        assert all(later > 1.3 * earlier for earlier, later in zip(made, made[1:], strict=False))
