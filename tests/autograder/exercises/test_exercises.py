"""Every exercise of every chapter: its mistakes are rejected and distinguished, its equivalents pass."""

import importlib
import pkgutil
import re
from functools import cache

import numpy as np
import pytest

from autograder.authoring.exercise import Exercise, exercises_of, find_exercise
from autograder.authoring.make_key import PUBLIC_SEED, make_key
from autograder.authoring.problems import catching_cases, problems
from autograder.chapter import myst
from autograder.chapter.chapter import stubs, text_of
from autograder.layout import chapter_names, exercise_names, number_and_word
from autograder.release.doctor import completeness_faults, promise_faults
from check.calling import Outcome, Raised
from check.measuring import measured_outcomes, outcomes_of
from check.scoring import grade
from check.values import pack
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

EVERY = [exercise for chapter in chapter_names() for exercise in exercises_of(chapter)]
SLOW = ("tests_accept_draft", "tests_train_step")  # making their keys takes half of the time of making all keys
EXERCISES = pytest.mark.parametrize(
    "exercise",
    thinned(EVERY, [exercise for exercise in EVERY if exercise.name not in SLOW], "other exercises of this kind"),
    ids=[exercise.name for exercise in EVERY],
)
KINDS = ("softmax", "tests_softmax_backward", "copies_predecessor", "diagnose_gradient", "predicted_gradients")
ONE_OF_EACH_KIND = pytest.mark.parametrize(
    "exercise",
    thinned(EVERY, [exercise for exercise in EVERY if exercise.name in KINDS], "more exercises of the same kinds"),
    ids=[exercise.name for exercise in EVERY],
)
SECRET_SEEDS = (20_260_101, 7)


@cache
def key_of(exercise: Exercise, seed: int):
    """A key that several tests look at but none changes."""
    return make_key(exercise, seed)


@EXERCISES
@pytest.mark.parametrize("seed", thinned([PUBLIC_SEED, *SECRET_SEEDS], [PUBLIC_SEED], "other keys"))
def test_the_grader_is_graded(exercise, seed):
    assert problems(exercise, key_of(exercise, seed)) == []


def test_every_key_distinguishes_small_numbers_added_to_a_sum():
    """With this key all sums were so large that 1e-8 and 1e-9 gave the same outcomes."""
    softmax = find_exercise("softmax")
    assert problems(softmax, make_key(softmax, 8_006_109)) == []


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("delta_rule_backward", 150),
        ("route_backward", 1484),
        ("self_attention_backward", 1513),
        ("self_attention_backward", 20_009),
    ],
)
def test_no_key_asks_for_a_gradient_that_is_rounding_alone(name, seed):
    """With these keys a right answer was off by more than allowed, because terms of a gradient cancelled."""
    exercise = find_exercise(name)
    assert problems(exercise, make_key(exercise, seed)) == []


@ONE_OF_EACH_KIND
def test_every_mistake_is_named_as_itself(exercise):
    key = key_of(exercise, PUBLIC_SEED)
    for slug, (mistake, wrong) in exercise.mistakes.items():
        result = grade(key, outcomes_of(wrong, key))
        assert (result.mistakes, result.remarks, result.passed) == ((mistake,), (), False), slug
        assert result.earned < result.points


@pytest.mark.parametrize("exercise", thinned(["attention", "attention_weights"], ["attention"], "another exercise"))
def test_a_mistake_keeps_its_name_in_a_function_that_refuses_what_it_should(exercise):
    key = key_of(find_exercise(exercise), PUBLIC_SEED)
    for slug, (mistake, wrong) in find_exercise(exercise).mistakes.items():
        pairs = zip(key.cases, outcomes_of(wrong, key), strict=True)
        result = grade(key, [case.expected if case.expected.raised else outcome for case, outcome in pairs])
        assert result.passed or result.mistakes == (mistake,), slug


@EXERCISES
def test_a_stub_earns_nothing(exercise):
    key = key_of(exercise, PUBLIC_SEED)
    blank = Outcome(raised=Raised("NotImplementedError", ""))
    result = grade(key, [blank for _ in key.cases])
    assert (result.earned, result.verdict.kind) == (0, "blank")


@EXERCISES
def test_an_exercise_is_complete(exercise):
    assert list(completeness_faults(exercise)) == []


@pytest.mark.parametrize("chapter", chapter_names())
def test_every_section_to_reread_is_a_section_of_the_chapter(chapter):
    titles = set(myst.section_titles(text_of(chapter)))
    for exercise in exercises_of(chapter):
        mistakes = [mistake for mistake, _ in exercise.mistakes.values()]
        assert {exercise.section, *(mistake.reread for mistake in mistakes)} <= titles, exercise.name
        # Rendering writes the sentence.
        assert not [mistake.name for mistake in mistakes if "Reread" in mistake.message]


@EXERCISES
def test_a_docstring_promises_what_its_cases_ask_for(exercise):
    assert list(promise_faults(exercise, key_of(exercise, PUBLIC_SEED))) == []


def test_no_docstring_promises_new_arrays_where_a_right_answer_returns_its_input():
    for exercise in EVERY:
        if re.search(r"\bnew (tree|array)", exercise.reference.__doc__):
            for case in key_of(exercise, PUBLIC_SEED).cases:
                for function in (exercise.reference, *exercise.equivalents.values()):
                    returned, given = pack(function(**case.inputs))[1], pack(case.inputs)[1]
                    shared = [1 for array in returned for other in given if np.shares_memory(array, other)]
                    assert not shared, (exercise.name, function.__name__, case.name)


def test_names_are_unique_over_all_chapters():
    names = [exercise.name for exercise in EVERY]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("chapter", chapter_names())
def test_a_chapter_checks_each_exercise_that_it_asks_for_and_that_has_a_file(chapter):
    package = importlib.import_module(f"autograder.exercises.{number_and_word(chapter)[1]}")
    modules = [
        importlib.import_module(f"{package.__name__}.{file.name}") for file in pkgutil.iter_modules(package.__path__)
    ]
    defined = {value.name for module in modules for value in vars(module).values() if isinstance(value, Exercise)}
    names = exercise_names(chapter)
    assert names == list(stubs(text_of(chapter)))
    assert sorted(names) == sorted(defined)


def test_an_unknown_chapter_is_refused():
    with pytest.raises(FileNotFoundError, match="10_nowhere"):
        exercises_of("10_nowhere")


@pytest.mark.thorough("the grader is graded with the public key, and remembered answers fail with secret ones")
@EXERCISES
def test_a_secret_key_asks_other_questions(exercise):
    public, secret = (key_of(exercise, seed) for seed in (PUBLIC_SEED, SECRET_SEEDS[0]))
    assert public.digest != secret.digest
    in_order = sorted if exercise.tests else list  # the order of the functions that a test meets is drawn
    names = [in_order(case.name for case in key.cases) for key in (public, secret)]
    assert names[0] == names[1]
    assert all(any(catching_cases(secret, slug)) for slug in secret.mistakes)


@ONE_OF_EACH_KIND
def test_remembered_answers_earn_nothing(exercise):
    remembered = [case.expected for case in key_of(exercise, PUBLIC_SEED).cases]
    keys = [key_of(exercise, seed) for seed in (*SECRET_SEEDS, 8)]
    # A key of few sizes may happen to ask the same as the public one, so one of three keys is enough.
    assert any(grade(key, measured_outcomes(key, remembered)).earned == 0 for key in keys)
