"""The line above an exercise with the signatures of the earlier functions that it calls."""

from types import FunctionType

import indexes
import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.inherited import called_exercises
from autograder.chapter.chapter import read_chapter
from autograder.chapter.targets import read_targets
from autograder.layout import REPO, chapter_names
from autograder.release.at_hand import NO_CHAPTER, at_hand, line
from autograder.release.notebook import source_notebook
from solutions import residual
from tests.autograder.release.small_repo import by_grade_id

pytestmark = pytest.mark.release


GIVEN = {residual.add_norm, residual.feed_forward}  # the map shows the exercises that they call


def line_of(chapter, name):
    chapter = read_chapter(chapter)
    return line(next(exercise for exercise in chapter.exercises if exercise.name == name), chapter)


def test_the_line_has_the_signatures_of_earlier_and_of_given_functions():
    assert line_of("01_attention", "attention") == "You can call `attention_weights(queries, keys)` (above)."
    said = line_of("07_cross", "decoder_layer")
    assert said.startswith(
        "You can call `multi_head_attention(query, key, value, params, n_heads, mask=None)` (chapter 4)"
    )
    assert said.endswith("and `feed_forward(x, params)` (chapter 5).")
    assert "`add_norm(x, update, params, rate=0.0, rng=None)` (above)" in line_of("05_residual", "encoder_layer")
    assert "`merge_heads(heads)` (given)" in line_of("08_model", "window_step")


def test_an_exercise_that_calls_nothing_has_no_line():
    assert line_of("01_attention", "softmax") == ""


def test_no_function_is_of_a_later_exercise():
    order = [exercise.name for chapter in chapter_names() for exercise in exercises_of(chapter)]
    for name in chapter_names():
        chapter = read_chapter(name)
        for exercise in chapter.exercises:
            for function, number in at_hand(exercise, chapter).items():
                earlier = function.__name__ in order[: order.index(exercise.name)]
                assert earlier or number == NO_CHAPTER or function.__name__ not in order, exercise.name


def test_the_line_has_what_the_map_shows_of_functions():
    every = indexes.listed()
    lacking = {}
    for name in chapter_names():
        chapter = read_chapter(name)
        for exercise in chapter.exercises:
            if isinstance(exercise.reference, FunctionType):
                functions = at_hand(exercise, chapter)
                given = [one for one, number in functions.items() if number == NO_CHAPTER or one in GIVEN]
                names = {function.__name__ for function in functions}
                names |= {called.name for function in given for called in called_exercises(function)}
                if missing := set(every[exercise.name].needs) - names:
                    lacking[exercise.name] = missing
    assert lacking == {}


def test_the_notebook_has_the_line_directly_above_the_stub():
    chapter = read_chapter("01_attention")
    cells = by_grade_id(source_notebook(chapter, read_targets(REPO / "chapters"), {}))
    names = list(cells)
    assert names[names.index("attention") - 1] == "at-hand-attention"
    assert cells["at-hand-attention"].source == line_of("01_attention", "attention")
    assert "at-hand-softmax" not in cells
