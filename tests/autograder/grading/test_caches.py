"""A function that passes but returns a different cache costs no points of the functions that take that cache."""

from types import SimpleNamespace

import numpy as np
import pytest

from autograder.authoring.make_key import make_lazy_key
from autograder.grading.follow_through import follow_through, returns_another_cache, sentence_about_caches
from autograder.grading.judging import exercises_by_name, judge_exercise
from autograder.sandbox import Budget, Limits
from check.calling import Outcome, run
from solutions import training

pytestmark = pytest.mark.grading
LOSS, STEP = "smoothed_cross_entropy", "train_step"


def with_one_hot_labels(logits, targets, smoothing=0.0, pad=0):
    loss, (log_probabilities, labels, counted, eps) = training.smoothed_cross_entropy(logits, targets, smoothing, pad)
    return loss, (log_probabilities, np.eye(logits.shape[-1])[labels], counted, eps)


def with_a_list(*arguments):
    loss, cache = training.smoothed_cross_entropy(*arguments)
    return loss, list(cache)


@pytest.fixture(scope="module")
def exercises():
    return exercises_by_name("09_training")


@pytest.fixture(scope="module")
def questions(exercises):
    return {name: make_lazy_key(exercises[name], 7) for name in (LOSS, STEP)}


def judged(key, function):
    return judge_exercise(key, [run(function, case.inputs) for case in key.cases])


@pytest.mark.parametrize(
    ("function", "another"),
    [
        (training.smoothed_cross_entropy, False),
        (with_a_list, False),
        (with_one_hot_labels, True),
        (lambda *arguments: (training.smoothed_cross_entropy(*arguments)[0], None), True),
    ],
)
def test_a_cache_is_compared_with_the_reference_s(exercises, questions, function, another):
    judgement = judged(questions[LOSS], lambda **inputs: function(*inputs.values()))
    assert judgement.passed
    assert returns_another_cache(exercises[LOSS], judgement) == another


@pytest.mark.parametrize(("function", "says"), [(with_one_hot_labels, True), (training.smoothed_cross_entropy, False)])
def test_a_function_that_fails_with_it_runs_again_with_a_right_one(exercises, questions, function, says):
    step = questions[STEP]
    first = {
        LOSS: judged(questions[LOSS], function),
        STEP: judge_exercise(step, [Outcome(stopped="failed") for _ in step.cases]),
    }
    runs = []

    def sandboxed(cells, calls, answered, distributions):
        runs.append(tuple(answered.modules))
        outcomes = [run(training.train_step, case.inputs) for case in step.cases]
        return SimpleNamespace(outcomes=outcomes, answered_calls={STEP: 1}, notes=[])

    assignment = SimpleNamespace(
        released=SimpleNamespace(chapter="09_training"),
        modules={LOSS: "solutions.training"},
        in_pytorch=frozenset(),
        distributions=lambda name: (),
    )
    dependencies = {LOSS: (), STEP: (LOSS,)}
    results, _ = follow_through(
        first, [], [LOSS, STEP], questions, dependencies, assignment, None, sandboxed, Budget(Limits())
    )
    assert runs == [(LOSS,)] * says
    assert results[STEP].passed == says
    assert results[STEP].answered == () and results[STEP].found == (sentence_about_caches([LOSS]),) * says
