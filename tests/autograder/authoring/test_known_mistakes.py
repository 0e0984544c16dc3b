"""The outcomes that a key stores."""

from dataclasses import replace
from unittest import mock

import pytest

from autograder.authoring.exercise import Exercise, find_exercise
from autograder.authoring.make_key import make_lazy_key, make_questions
from autograder.grading.judging import judge_exercise
from autograder.layout import chapter_names, exercise_names
from tests.choosing import thinned

pytestmark = pytest.mark.autograder


TESTS = [name for chapter in chapter_names() for name in exercise_names(chapter) if name.startswith("tests_")]


@pytest.mark.parametrize("name", thinned(TESTS, ["tests_split_heads", "tests_train_step"], "another exercise"))
def test_a_test_of_ours_is_tried_on_each_function_once_for_all_submissions(name):
    exercise = find_exercise(name)
    wrong = next(iter(exercise.mistakes))
    key = make_lazy_key(exercise, 1)
    first = {case.name: case.mistakes[wrong] for case in key.cases}
    with mock.patch.object(Exercise, "outcome") as outcome:
        other = make_lazy_key(exercise, 2)
        second = {case.name.removesuffix(", again"): case.mistakes[wrong] for case in other.cases}
    outcome.assert_not_called()
    assert [case.name for case in other.cases] != [case.name for case in key.cases]
    assert second == {case: first[case] for case in second}


@pytest.mark.parametrize("name", ["tests_split_heads", "tests_train_step"])
def test_a_test_of_ours_accepts_the_right_functions_alone(name):
    for seed in range(2):
        cases = make_questions(find_exercise(name), seed).cases
        assert all(case.expected.value is case.name.startswith("a right function") for case in cases)


def test_an_answer_with_no_known_mistake_is_explained_without_running_any_on_the_largest_case():
    exercise = find_exercise("softmax")
    key = make_lazy_key(exercise, 1)
    wrong = [replace(case.expected, value=1.01 * case.expected.value) for case in key.cases]
    judgement, outcome = judge_exercise(key, wrong), exercise.outcome
    with mock.patch.object(Exercise, "outcome", side_effect=outcome) as runs:
        assert not judgement.result.mistakes
    largest = max(key.cases, key=lambda case: case.size)
    inputs = [called.args[1] for called in runs.call_args_list]
    assert inputs and not any(called is largest.inputs for called in inputs)
