"""Exercises that ask for a prediction: the model prediction holds in every run that a case may ask for."""

import pytest

from autograder.authoring.exercise import Draw
from autograder.exercises.residual import predicted_gradients as stacks
from autograder.exercises.training import predicted_final_losses as schedules
from check.predictions import predicted, right
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

QUESTIONS = [
    *((stacks.predicted_gradients, stacks.case, runs) for runs in (
        stacks.by_depth, stacks.by_small_updates, stacks.by_large_updates
    )),
    *((schedules.predicted_final_losses, schedules.case, runs) for runs in (
        schedules.by_smoothing, schedules.by_rate, schedules.by_long_warmup, schedules.by_high_rate
    )),
]  # fmt: skip


@pytest.mark.parametrize(("exercise", "case", "runs"), QUESTIONS, ids=[runs.__name__ for *_, runs in QUESTIONS])
@pytest.mark.parametrize("seed", thinned(range(40), range(10), "more seeds"))
def test_every_right_prediction_holds_in_every_run(exercise, case, runs, seed):
    inputs = case(Draw(seed), runs, reasons=True)
    order, reasons, _ = right(inputs["made"], inputs["moved"], inputs["asks"])
    for predict in (exercise.reference, *exercise.equivalents.values()):
        found, named, sentence = predicted(predict(inputs["runs"]), **inputs)
        assert (found.tolist(), named.tolist(), sentence) == (order.tolist(), reasons.tolist(), "")


@pytest.mark.parametrize(("exercise", "case", "runs"), QUESTIONS, ids=[runs.__name__ for *_, runs in QUESTIONS])
def test_no_two_runs_are_close(exercise, case, runs):
    """What another machine rounds differently changes no order."""
    for seed in range(3):
        made = sorted(case(Draw(seed), runs, reasons=False)["made"])
        assert all(later > 1.3 * earlier for earlier, later in zip(made, made[1:], strict=False))
