"""An exercise depends on those that the student's code names."""

from types import SimpleNamespace

import pytest

from autograder.grading.dependencies import exercises_called, exercises_to_answer

pytestmark = pytest.mark.grading


def exercises(solved_by=()):
    """Return a to d, in this order. solved_by: what would solve d."""
    return {name: SimpleNamespace(solved_by=solved_by if name == "d" else ()) for name in "abcd"}


def called_by_d(*sources):
    return exercises_called(exercises(), sources)["d"]


def test_only_earlier_exercises_that_are_called_are_answered():
    calls = {"a": "c(x)", "b": "a(x)", "c": "b(d(x))", "d": "d(x)"}
    called = exercises_called(exercises(), [f"def {name}(x): return {call}" for name, call in calls.items()])
    assert exercises_to_answer(exercises(), called) == {"a": (), "b": ("a",), "c": ("a", "b"), "d": ()}


def test_what_would_solve_an_exercise_is_not_answered_for_it():
    some = exercises(solved_by={"b"})
    called = exercises_called(some, ["def c(x): return b(x)", "def d(x): return c(x)"])
    assert exercises_to_answer(some, called)["d"] == ("c",)


def test_an_exercise_that_the_code_names_counts():
    assert called_by_d("def d(x):\n    return b(x)") == ("b",)
    assert called_by_d("d = lambda x: c(b(x))", "print(a)") == ("b", "c")
    assert called_by_d("class d(a):\n    def forward(self):\n        return map(c, self)") == ("a", "c")


def test_an_exercise_that_a_helper_names_counts():
    assert called_by_d("import math\ndef d(x): return once(x)", "def once(x): return twice(x)", "twice = b") == ("b",)
    assert called_by_d("def d(x): return c(x)", "def c(x): return b(x)") == ("c",)  # c calls b itself


def test_what_only_looks_like_a_call_does_not_count():
    assert called_by_d("def d(b):\n    return b.a  # c", "c = d", "def d(: a") == ()
    assert called_by_d("def other(d):\n    d = a") == ()
