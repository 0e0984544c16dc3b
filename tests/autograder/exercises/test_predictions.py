"""Exercises that ask for a prediction: the model prediction holds in every run that a case may ask for."""

import numpy as np
import pytest

from autograder.authoring.exercise import Draw
from autograder.authoring.make_key import PUBLIC_SEED, make_questions
from autograder.authoring.runs_to_order import runs_to_order
from autograder.exercises.project.ablations import CHANGES, SHOWN, changed, losses
from autograder.exercises.project.make_ablations import IN_CHAPTER, short_run
from autograder.exercises.project.predicted_ablations import predicted_ablations
from autograder.exercises.residual import predicted_gradients as stacks
from autograder.exercises.training import predicted_final_losses as schedules
from autograder.layout import REPO
from check.measuring import outcomes_of
from check.predictions import predicted, right
from check.scoring import grade
from solutions.pronunciations import load_words
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
    return runs_to_order(draw, make, [runs(draw)], reasons=reasons)[0]


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
    """Differences in rounding between machines change no order."""
    for seed in range(3):
        made = sorted(drawn(seed, make, runs, reasons=False)["made"])
        assert all(later > 1.3 * earlier for earlier, later in zip(made, made[1:], strict=False))


@pytest.mark.parametrize("seed", thinned(range(40), range(5), "more seeds"))
def test_every_right_order_of_ablations_passes_and_no_wrong_one(seed):
    key = make_questions(predicted_ablations, seed)
    for predict in (predicted_ablations.reference, *predicted_ablations.equivalents.values()):
        assert grade(key, outcomes_of(predict, key)).passed
    for slug, (_, predict) in predicted_ablations.mistakes.items():
        assert not grade(key, outcomes_of(predict, key)).passed, slug


def test_each_ablation_changes_one_setting_and_has_five_seeds():
    for name, values in CHANGES.items():
        assert losses([changed(name, value) for value in values]).shape == (len(values), 5)
    with np.load(IN_CHAPTER, allow_pickle=False) as file:
        shown = dict(file)
    assert {name: array.astype(float).tolist() for name, array in shown.items()} == {
        name: losses([changed(name, value)])[0].tolist() for name, value in SHOWN.items()
    }


def test_grading_asks_for_amounts_that_the_chapter_does_not_show():
    shown = [changed(name, value) for name, value in SHOWN.items()]
    key = make_questions(predicted_ablations, PUBLIC_SEED)
    others = [case.inputs["runs"] for case in key.cases if case.aspect == "other amounts"]
    assert others and all(sum(run in shown for run in runs) == 1 for runs in others)  # one head is the only amount


@pytest.mark.thorough("the stored losses stand for all, and a training takes seconds")
def test_a_stored_loss_is_made_again():
    words = load_words(REPO / "chapters" / "pronunciations.npz")
    run = changed("rate", 0.001)
    assert abs(short_run(run, 0, words) - losses([run])[0, 0]) < 0.05
