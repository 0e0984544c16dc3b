"""A function's source can stand alone, with everything it uses."""

import importlib.util
import sys

import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.short_mistakes import is_short
from autograder.example.standalone import standalone
from autograder.layout import chapter_names
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

FILES = {
    "autograder.exercises.first.shared": "def step(x):\n    return x + 1\n",
    "autograder.exercises.second.shared": "def step(x):\n    return 10 * x\n",
    "autograder.exercises.second.walk": (
        "from functools import partial\n\n"
        "import numpy as np\n\n"
        "from autograder.exercises.first.shared import step as plus\n"
        "from autograder.exercises.second.shared import step\n\n"
        "between = partial(np.clip, a_min=0, a_max=15)\n"
        "STEPS = (plus, step)\n\n\n"
        "def walk(x):\n    return step(plus(x))\n\n\n"
        "def walk_within(x):\n    for step in STEPS:\n        x = between(step(x))\n    return x\n\n\n"
        "def one_more(function):\n    def farther(x):\n        return function(x) + 1\n    return farther\n\n\n"
        "walk_farther = one_more(walk)\n"
    ),
}


@pytest.fixture
def walks(tmp_path, monkeypatch):
    for name, source in FILES.items():
        file = tmp_path / f"{name}.py"
        file.write_text(source)
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    return module


def alone(function):
    namespace = {}
    exec(standalone(function, "wandered"), namespace)
    return namespace["wandered"]


def test_two_helpers_of_the_same_name_are_kept_apart(walks):
    assert walks.walk(1) == 20
    assert alone(walks.walk)(1) == 20


def test_a_global_may_hold_functions(walks):
    assert walks.walk_within(1) == 15
    assert alone(walks.walk_within)(1) == 15


def test_a_function_may_use_what_encloses_it(walks):
    assert walks.walk_farther(1) == 21
    assert alone(walks.walk_farther)(1) == 21


@pytest.mark.parametrize("chapter", chapter_names())
def test_an_example_class_finds_two_mistakes_that_can_stand_alone(chapter):
    """A mistake in the short form is a statement and has no source of its own."""
    exercises = [e for e in exercises_of(chapter) if any(not is_short(wrong) for _, wrong in e.mistakes.values())]
    assert len(exercises) >= 2


@pytest.mark.parametrize("chapter", thinned(chapter_names(), ["04_multihead"], "other chapters"))
def test_every_rewrite_and_every_mistake_outside_of_the_short_form_can_stand_alone(chapter):
    for exercise in exercises_of(chapter):
        mistakes = [wrong for _, wrong in exercise.mistakes.values() if not is_short(wrong)]
        for function in (*mistakes, *exercise.equivalents.values()):
            compile(standalone(function, exercise.name), exercise.name, "exec")
