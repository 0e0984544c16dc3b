"""Exercises that ask for a prediction: the model prediction holds in every run that a case may ask for."""

import math
from itertools import islice

import numpy as np
import pytest

from autograder.authoring.exercise import Draw
from autograder.authoring.make_key import PUBLIC_SEED, make_questions
from autograder.authoring.runs_to_order import runs_to_order
from autograder.exercises.dictionary import flaws, make_runs
from autograder.exercises.dictionary.predicted_tests import predicted_tests
from autograder.exercises.dictionary.programs import PROGRAMS, RIGHT
from autograder.exercises.project.ablations import CHANGES, PLAIN, SHOWN, changed, changes, losses
from autograder.exercises.project.make_ablations import IN_CHAPTER, short_run
from autograder.exercises.project.predicted_ablations import predicted_ablations
from autograder.exercises.residual import predicted_gradients as stacks
from autograder.exercises.training import predicted_final_losses as schedules
from autograder.layout import REPO
from check.measuring import outcomes_of
from check.predictions import predicted, right
from check.scoring import grade
from solutions.predictions import order_and_reasons
from solutions.pronunciations import load_words
from solutions.schedules import final_losses
from solutions.stacks import top_gradients
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

GRADIENTS, LOSSES = (stacks.predicted_gradients, top_gradients), (schedules.predicted_final_losses, final_losses)
QUESTIONS = [
    *((*GRADIENTS, runs) for runs in (
        stacks.by_depth, stacks.by_depth_with_deep_post, stacks.by_small_updates,
        stacks.by_many_small_updates, stacks.by_large_updates,
    )),
    *((*LOSSES, runs) for runs in (
        schedules.by_smoothing, schedules.by_rate, schedules.by_long_warmup, schedules.by_high_rate
    )),
]  # fmt: skip
ORDER_ALONE = (stacks.by_depth_with_deep_post, stacks.by_many_small_updates)  # two settings would decide equally


def drawn(seed, make, runs, *, reasons):
    draw = Draw(seed)
    return next(runs_to_order(draw, make, [runs(draw)], reasons=reasons))


@pytest.mark.parametrize(("exercise", "make", "runs"), QUESTIONS, ids=[runs.__name__ for *_, runs in QUESTIONS])
@pytest.mark.parametrize("seed", thinned(range(40), range(10), "more seeds"))
def test_every_right_prediction_holds_in_every_run(exercise, make, runs, seed):
    inputs = drawn(seed, make, runs, reasons=runs not in ORDER_ALONE)
    order, reasons, *_ = right(inputs["made"], inputs["moved"], inputs["asks"])
    for predict in (exercise.reference, *exercise.equivalents.values()):
        found, named, (n_right, n_judged), sentence = predicted(predict(inputs["runs"]), **inputs)
        assert (found.tolist(), n_right, sentence) == (order.tolist(), n_judged, "")
        assert np.array_equal(named, reasons)


@pytest.mark.parametrize(("exercise", "make", "runs"), QUESTIONS, ids=[runs.__name__ for *_, runs in QUESTIONS])
def test_no_two_runs_are_close(exercise, make, runs):
    """Differences in rounding between machines change no order."""
    for seed in range(3):
        made = sorted(drawn(seed, make, runs, reasons=False)["made"])
        assert all(later > 1.3 * earlier for earlier, later in zip(made, made[1:], strict=False))


def by(predict):
    return lambda runs: order_and_reasons(predict, runs)


def in_all(run):
    return run["depth"] if run["norm"] == "pre" else 1


def off(run):
    """The distance in decades between the highest rate that a run reaches and the best one."""
    return abs(math.log10(run["rate"] * min(1, 80 / run.get("warmup", 1))) + 1)


# Rules that a student may try. None is right.
RULES = {
    stacks.predicted_gradients: {
        "nothing": by(lambda run: 0),
        "the depth alone": by(lambda run: -run["depth"]),
        "the norm alone": by(lambda run: run["norm"] == "post"),
        "the update alone": by(lambda run: -run["update"]),
        "the norm, then the depth": by(lambda run: (run["norm"] == "post") * 1000 - run["depth"]),
        "the norm, then the update": by(lambda run: (run["norm"] == "post") * 1000 - run["update"]),
        "the update, then the depth": by(lambda run: -run["update"] * 1000 - run["depth"]),
        "the depth times the update": by(lambda run: -run["depth"] * run["update"]),
        "half of the updates in post-norm": by(
            lambda run: -(run["depth"] if run["norm"] == "pre" else run["depth"] / 2) * run["update"] ** 2
        ),
        "the root of the depth times the update": by(lambda run: -math.sqrt(run["depth"]) * run["update"]),
        "one reason": lambda runs: (by(lambda run: -in_all(run) * run["update"] ** 2)(runs)[0], ["norm"] * 3),
    },
    schedules.predicted_final_losses: {
        "nothing": by(lambda run: 0),
        "the rate alone": by(lambda run: run["rate"]),
        "the smoothing alone": by(lambda run: run["smoothing"]),
        "the warm-up alone": by(lambda run: run["warmup"]),
        "the rate that is reached alone": by(off),
        "the rate, then the smoothing": by(
            lambda run: 100 * round(abs(math.log10(run["rate"]) + 1)) + run["smoothing"]
        ),
        "the smoothing and the rate that is reached": by(lambda run: run["smoothing"] + off(run)),
        "the smoothing and the rate": by(lambda run: run["smoothing"] + abs(math.log10(run["rate"]) + 1)),
        "twice the floor": by(lambda run: 2 * schedules.floor(run) + off(run)),
        "one reason": lambda runs: (schedules.predicted_final_losses.reference(runs)[0], ["warmup"] * 3),
    },
    predicted_ablations: {
        name: lambda runs, predict=predict: sorted(range(len(runs)), key=lambda i: predict(runs[i]))
        for name, predict in {
            "nothing": lambda run: 0,
            "the rate alone": lambda run: abs(math.log10(run["rate"]) + 2),
            "a lower rate": lambda run: run["rate"],
            "the words alone": lambda run: -run["words"],
            "the layers alone": lambda run: run["layers"],
            "the smoothing alone": lambda run: run["smoothing"],
            "the heads alone": lambda run: -run["heads"],
            "the size": lambda run: -run["layers"] * run["heads"] * run["words"],
            "the rate and the words, in decades": lambda run: (
                abs(math.log10(run["rate"]) + 2) - math.log10(run["words"])
            ),
            "the name of the setting": lambda run: [run[name] == PLAIN[name] for name in ("words", "rate", "layers")],
            "few words, then the rate": lambda run: 3 * (run["words"] <= 300) + abs(math.log10(run["rate"]) + 2),
        }.items()
    },
    predicted_tests: {
        "nothing": lambda programs: [[] for _ in programs],
        **{f"{test} alone": lambda programs, test=test: [[test] for _ in programs] for test in flaws.TESTS},
        "the first two": lambda programs: [flaws.TESTS[:2] for _ in programs],
        "slope or reference": lambda programs: [
            ["slope" if program["changes"] == "backward" else "reference"] for program in programs
        ],
    },
}


@pytest.mark.parametrize("exercise", RULES, ids=lambda exercise: exercise.name)
@pytest.mark.parametrize("n_keys", thinned((3, 30), (3,), "more seeds"))
def test_a_wrong_rule_earns_the_same_with_every_key_and_at_home(exercise, n_keys):
    """A known mistake may earn half a point more or less at home. For other rules, the points may differ by one."""
    keys = [make_questions(exercise, seed) for seed in range(n_keys)]
    home = make_questions(exercise, PUBLIC_SEED, at_home=True)
    mistakes = {slug: wrong for slug, (_, wrong) in exercise.mistakes.items()}
    for name, rule in (RULES[exercise] | mistakes).items():
        at_home, *graded = (grade(key, outcomes_of(rule, key)) for key in (home, *keys))
        earned = [result.earned for result in (at_home, *graded)]
        assert max(earned) - min(earned) <= (0.5 if name in mistakes else 1), (name, earned)
        assert max(earned) < exercise.points, name
        if name in mistakes:
            assert len({tuple(aspect.earned for aspect in result.aspects) for result in graded}) == 1, name


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


def test_grading_asks_for_all_runs_and_a_public_key_gives_five_of_them_not_away():
    graded, public = (
        {
            tuple(run.items())
            for case in make_questions(predicted_ablations, 0, home).cases
            for run in case.inputs["runs"]
        }
        for home in (False, True)
    )
    shown = {tuple(changed(*change).items()) for change in SHOWN.items()}
    assert graded == {tuple(changed(*change).items()) for change in changes(at_home=False)}
    assert shown < public < graded and (len(public), len(graded)) == (9, 14)


NAMES = [name for names in flaws.FLAWS.values() for name in names]


@pytest.mark.parametrize("name", NAMES)
def test_a_right_prediction_names_the_tests_that_find_a_program(name):
    found = {test for test, finds in zip(flaws.TESTS, flaws.tests_that_find(name), strict=True) if finds}
    for predict in (predicted_tests.reference, *predicted_tests.equivalents.values()):
        assert set(predict(flaws.asked((name,)))[0]) == found


def test_every_wrong_program_is_asked_for_and_few_at_home():
    assert sorted([RIGHT, *NAMES]) == sorted(PROGRAMS)
    graded, public = (
        {
            program["flaw"]
            for case in make_questions(predicted_tests, 0, home).cases
            for program in case.inputs["programs"]
        }
        for home in (False, True)
    )
    assert graded == set(NAMES) and public == {*flaws.SHOWN, *flaws.MORE_AT_HOME}


def test_each_wrong_program_has_trained_once_and_the_right_one_with_three_seeds():
    with np.load(make_runs.STORED, allow_pickle=False) as file:
        runs = dict(file)
    assert sorted(runs) == sorted([*(f"{RIGHT}.{seed}" for seed in range(3)), *(f"{name}.0" for name in NAMES)])
    assert all(losses.shape == (2 + len(make_runs.MEASURED),) for losses in runs.values())


@pytest.mark.thorough("the stored losses stand for all, and a training takes seconds")
def test_a_stored_run_begins_again():
    name = "goes back through the norm without the size"
    made = [*islice(make_runs.short_run(PROGRAMS[name], 0, make_runs.entries()), 2)]
    with np.load(make_runs.STORED, allow_pickle=False) as file:
        assert np.allclose(made, file[f"{name}.0"][:2], atol=0.02)
        assert not np.allclose(made, file[f"{RIGHT}.0"][:2], atol=0.1)


@pytest.mark.thorough("the stored losses stand for all, and a training takes seconds")
def test_a_stored_loss_is_made_again():
    words = load_words(REPO / "chapters" / "pronunciations.npz")
    run = changed("rate", 0.001)
    assert abs(short_run(run, 0, words) - losses([run])[0, 0]) < 0.05
