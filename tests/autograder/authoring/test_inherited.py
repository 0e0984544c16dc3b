"""An exercise inherits the known mistakes of the exercises that its reference calls, in any chapter."""

import importlib
from collections import Counter

import numpy as np
import pytest

from autograder.authoring import inherited
from autograder.authoring.exercise import Exercise, exercises_of, find_exercise
from autograder.authoring.fingerprinting import fingerprints_of_inherited
from autograder.authoring.inherited import Inherited, called_exercises, inherited_mistakes, merged, rebound
from autograder.authoring.make_key import full_key, make_lazy_key, narrowed_to, public_key
from autograder.exercises.residual.encoder_layer import layered
from autograder.layout import chapter_names
from check.fingerprints import equal_rows, fingerprints
from check.key import load, save
from check.measuring import outcomes_of
from check.messages import as_text
from check.scoring import grade
from solutions.dropout import dropout
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

COMPOSITES = (
    *("attention", "cross_attention", "target_mask", "multi_head_attention"),
    *("encoder_layer", "decoder_layer", "positional_embedding"),
    *("attention_backward", "self_attention_backward", "add_norm_backward"),
)


def names_of(exercises):
    return {exercise.name for exercise in exercises}


def test_it_calls_exercises_of_any_chapter_also_through_helpers():
    called = called_exercises(find_exercise("continue_run").reference)
    assert names_of(called) >= {"forward", "adam_step"}
    assert names_of(called_exercises(find_exercise("DecoderLayer").reference)) == {"MultiHeadAttention"}
    assert called_exercises(find_exercise("softmax").reference) == []


def test_a_mistake_also_replaces_what_a_helper_calls():
    reference, called = (find_exercise(name).reference for name in ("add_norm_backward", "layer_norm_backward"))
    helper = importlib.import_module("solutions.residual")._norm_backward
    wrong = rebound(reference, called, len)
    assert wrong.__globals__["_norm_backward"].__globals__["layer_norm_backward"] is len
    assert helper.__globals__["layer_norm_backward"] is called and reference.__globals__["_norm_backward"] is helper


def biased(*inputs, **named):
    """Return encoder_layer with the norms written out and the variance divided by d_model - 1."""

    def add(x, update, params, rate, rng):
        total = x + dropout(update, rate, rng)[0]
        centred, variance = total - total.mean(axis=-1, keepdims=True), total.var(axis=-1, keepdims=True, ddof=1)
        return params["gain"] * centred / np.sqrt(variance + 1e-5) + params["bias"], None

    return layered(*inputs, **named, add=add)


def test_a_mistake_in_a_step_that_is_written_out_has_the_name_it_has_in_its_own_exercise():
    key = public_key(find_exercise("encoder_layer"))
    result = grade(key, outcomes_of(biased, key))
    own = public_key(find_exercise("layer_norm")).mistakes["unbiased"]
    (mistake,) = result.mistakes
    assert mistake.name == f"{own.name} (in the step of `layer_norm`, chapter 5)"
    assert (mistake.message, mistake.reread) == (f"In that step: {own.message}", own.reread)
    assert mistake.name in as_text(result)


def outer(x):
    """Return twice what another exercise computes, plus one."""
    return 2 * inner(x) + 1


def inner(x):
    """Return the root of x, but 0 for what is negative."""
    return np.sqrt(np.maximum(x, 0.0))


@pytest.fixture
def pair(monkeypatch):
    """Return an exercise that calls another one."""
    called = Exercise(inner, outputs={"root": "n"}, section="Roots")
    caller = Exercise(outer, outputs={"twice": "n"}, section="Twice")

    @caller.cases("the idea", points=1)
    def _(draw):
        yield "positive", {"x": np.abs(draw.normal(4)) + 1}
        yield "more of them", {"x": np.abs(draw.normal(5)) + 1}

    monkeypatch.setattr(inherited, "_called", lambda function: {"inner": inner} if function is outer else {})
    monkeypatch.setattr(inherited, "exercise_of", lambda function: called if function is inner else None)
    monkeypatch.setattr(inherited, "chapter_number", lambda exercise: 3)
    return caller, called


def add_mistake(exercise, slug, function, name=""):
    def wrong(x):
        """This is wrong."""
        return function(x)

    wrong.__name__ = slug
    exercise.mistake(name or slug)(wrong)


def test_mistakes_that_change_nothing_or_equal_an_own_one_are_not_inherited(pair):
    caller, called = pair
    add_mistake(called, "cube", np.cbrt)
    add_mistake(called, "without_limit", np.sqrt)
    add_mistake(called, "logarithm", np.log)
    add_mistake(caller, "own", lambda x: 2 * np.log(x) + 1)
    key = full_key(caller, 1)
    assert list(key.inherited) == ["inner.cube"]
    assert grade(key, outcomes_of(lambda x: np.log(x) * 2 + 1, key)).mistakes == (key.mistakes["own"],)


def test_mistakes_with_the_same_values_are_named_together_or_not_at_all(pair):
    caller, called = pair
    for slug, name in {"one": "takes a", "two": "takes b"}.items():
        add_mistake(called, slug, np.cbrt, name)
    ((slug, (mistake, rows)),) = fingerprints_of_inherited(caller, full_key(caller, 1)).items()
    assert slug == "inner.one.two" and rows.shape == (1, 2)
    assert mistake.name == "takes a, or takes b (in the step of `inner`, chapter 3)"
    assert mistake.message == "Either would give your values."
    inherited_mistakes.cache_clear()
    add_mistake(called, "three", np.cbrt, "takes c")
    assert not fingerprints_of_inherited(caller, full_key(caller, 1))
    inherited_mistakes.cache_clear()


def test_numbers_that_are_only_examples_make_no_difference_and_the_nearest_exercise_counts(pair):
    caller, called = pair
    add_mistake(called, "small", np.cbrt, "adds a number such as 1")
    add_mistake(called, "large", np.cbrt, "adds a number such as 2")
    add_mistake(caller, "far", np.cbrt)
    small, large = (Inherited(called, slug, 1, outer) for slug in ("small", "large"))
    assert merged([small, large])[0] == "inner.small"
    assert merged([small, Inherited(caller, "far", 2, outer)])[0] == "inner.small"
    assert merged([small, Inherited(caller, "far", 1, outer)]) is None


def test_whole_numbers_and_exceptions_are_not_enough(pair):
    caller, called = pair
    add_mistake(called, "ones", np.ones_like)
    add_mistake(called, "raises", lambda x: x[100])
    assert not full_key(caller, 1).inherited


def test_a_saved_key_has_its_inherited_mistakes(pair, tmp_path):
    caller, called = pair
    add_mistake(called, "cube", np.cbrt)
    key = full_key(caller, 3)
    save(key, tmp_path / "key.npz")
    loaded = load(tmp_path / "key.npz")
    assert loaded.digest == key.digest
    assert loaded.mistake("inner.cube") == key.inherited["inner.cube"][0]


@pytest.mark.parametrize("slug", ["only_the_mean", "without_root"])
def test_a_mistake_can_be_called_with_names_or_without(slug):
    """Otherwise what calls it, such as `train_step`, raises a TypeError and cannot inherit it."""
    _, wrong = find_exercise("adam_step").mistakes[slug]
    asked = {"parameters": np.ones(3), "gradients": np.arange(3.0), "moments": (np.zeros(3), np.zeros(3)), "step": 2}
    asked["learning_rate"] = 0.1
    np.testing.assert_array_equal(wrong(*asked.values())[0], wrong(**asked)[0])


@pytest.mark.parametrize("exercise", thinned(COMPOSITES, ["target_mask"], "other exercises"))
def test_grading_names_what_a_complete_key_names(exercise):
    exercise = find_exercise(exercise)
    whole, lazy = full_key(exercise, 3), make_lazy_key(exercise, 3)
    for mistake in inherited_mistakes(exercise)[:60]:
        outcomes = outcomes_of(mistake.function, whole)
        assert grade(narrowed_to(lazy, outcomes), outcomes).mistakes == grade(whole, outcomes).mistakes


EVERY = [exercise.name for chapter in chapter_names() for exercise in exercises_of(chapter)]


@pytest.mark.parametrize("exercise", thinned(EVERY, COMPOSITES[:3], "other exercises"))
def test_no_right_function_has_an_inherited_mistake(exercise):
    exercise = find_exercise(exercise)
    key = public_key(exercise)
    for right in (exercise.reference, *exercise.equivalents.values()) if key.inherited else ():
        row = fingerprints(key, outcomes_of(right, key))
        assert not any(equal_rows(rows, row).any() for _, rows in key.inherited.values())


def explained(name):
    """Count the explanations of wrong functions: the exercise with a mistake of one that it calls."""
    exercise, counts = find_exercise(name), Counter()
    key = public_key(exercise)
    known = {slug: [fingerprints(key, [case.mistakes[slug] for case in key.cases])] for slug in key.mistakes}
    known |= {slug: rows for slug, (_, rows) in key.inherited.items()}
    for mistake in inherited_mistakes(exercise):
        if mistake.distance == 1:
            outcomes = outcomes_of(mistake.function, key)
            result = grade(key, outcomes)
            named = {slug for slug in known if key.mistake(slug) in result.mistakes}
            true = [slug for slug in named if equal_rows(np.array(known[slug]), fingerprints(key, outcomes)).any()]
            kind = "accepted" if result.passed else "not named" if not named else "named" if true else "else"
            counts[kind] += 1
    return counts


@pytest.mark.thorough("the same for ten exercises")
def test_most_mistakes_of_called_exercises_are_named_and_none_falsely():
    counts = sum(map(explained, COMPOSITES), Counter())
    assert counts.total() > 350
    assert counts["named"] >= 0.75 * counts.total()
    assert counts["else"] <= 1  # NaN where no query sees anything, which is true of that one too
