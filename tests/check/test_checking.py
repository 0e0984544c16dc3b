"""What students see when they run `check`."""

import re

import numpy as np
import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import PUBLIC_SEED, make_key, make_questions
from autograder.layout import chapter_names
from check import checking as module
from check import input_text, messages
from check.caches import ANOTHER_CACHE
from check.calling import run
from check.checking import CheckFailed, NoPyTorch, check, checked
from check.measuring import outcomes_of
from check.picture import picture
from check.scoring import grade
from check.verdicts_of_test import bound_key

pytestmark = pytest.mark.autograder


@pytest.fixture(autouse=True)
def public(monkeypatch, key):
    monkeypatch.setattr(module, "public_key", lambda name: key)


def normalised(x):
    if x.shape[-1] == 0:
        raise ValueError
    return x / x.sum(axis=-1, keepdims=True), None


def test_passing_prints_one_line(capsys):
    check(normalised)
    assert capsys.readouterr().out == "✓ normalised: all 4 cases pass.\n"


@pytest.mark.parametrize(("cache_of", "mentions"), [(lambda x: None, 1), (lambda x: x, 0)])
def test_another_cache_passes_and_is_mentioned(capsys, monkeypatch, exercise, cache_of, mentions):
    monkeypatch.setattr(module, "public_key", lambda name: make_key(exercise, 1, at_home=True))

    def normalised(x):
        return exercise.reference(x)[0], cache_of(x)

    check(normalised)
    shown = capsys.readouterr().out
    assert shown.startswith("✓ normalised: ") and shown.count(ANOTHER_CACHE) == mentions


@pytest.mark.parametrize("chapter", chapter_names())
def test_the_book_s_functions_return_the_cache_that_the_keys_hold(chapter):
    for exercise in exercises_of(chapter):
        key = make_questions(exercise, PUBLIC_SEED, at_home=True)
        outcomes = outcomes_of(exercise.reference, bound_key(key, exercise.tested_functions))
        assert not module.has_another_cache(key, outcomes), exercise.name


def test_failing_raises_and_shows_what_is_wrong(capsys):
    with pytest.raises(CheckFailed, match="normalised: 0 of 4 points") as failure:
        check(lambda x: (x / x.sum(), x))
    shown = capsys.readouterr().out
    assert "Known mistake: divides by the whole sum. Each row has a sum of its own." in shown
    assert "x = array([[1., 3.]])" not in shown.split("smallest failing")[0]
    assert failure.value._render_traceback_() == ["CheckFailed: normalised: 0 of 4 points."]


def test_only_the_smallest_failing_input_is_called_so(capsys):
    def right_for_empty_rows(x):
        if x.shape[-1] == 0:
            raise ValueError
        return x, x

    for function, title in (
        (right_for_empty_rows, "The smallest failing input: x = array("),
        (lambda x: (x, x), "The smallest input that fails in this way: x = array("),
    ):
        with pytest.raises(CheckFailed):
            check(function)
        assert title in capsys.readouterr().out


def test_an_unknown_mistake_gets_the_section_to_reread(capsys):
    with pytest.raises(CheckFailed):
        check(lambda x: (x, x))
    assert "Reread “Shares”." in capsys.readouterr().out


def defined(source, **names):
    """Return what a cell of a notebook defines."""
    exec(source, names)
    return names["normalised"]


STUB = "def normalised(x):\n    raise NotImplementedError"
NOT_WRITTEN = "`normalised` is not written yet. Read “Shares” first. If you need help, open the hints above its cell.\n"


def test_a_stub_gets_one_line_that_says_where_to_begin(capsys, monkeypatch):
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    check(defined(STUB))
    assert capsys.readouterr().out == NOT_WRITTEN
    assert "verdict-blank" in checked(defined(STUB)).html


@pytest.mark.parametrize("execution", ["validate", "autograde"])
def test_a_stub_fails_when_nbgrader_runs_the_notebook(capsys, monkeypatch, execution):
    monkeypatch.setenv("NBGRADER_EXECUTION", execution)
    with pytest.raises(CheckFailed, match="normalised: 0 of 4 points"):
        check(defined(STUB))
    assert capsys.readouterr().out == NOT_WRITTEN


def test_a_function_that_calls_a_stub_waits_for_it(capsys):
    stub = defined(STUB)
    check(defined("def normalised(x):\n    return total(x), None", total=stub))
    assert capsys.readouterr().out == "`normalised` waits for `total`, which is not written yet.\n"
    check(defined("def normalised(x):\n    x = total(x)\n    raise NotImplementedError", total=stub))
    assert capsys.readouterr().out == NOT_WRITTEN


def test_a_written_function_that_meets_a_stub_further_down_names_the_stub(capsys):
    source = f"{STUB.replace('normalised', 'total')}\ndef helper(x):\n    return total(x)\n"
    check(defined(compile(f"{source}def normalised(x):\n    return helper(x), None", "<cell normalised>", "exec")))
    assert capsys.readouterr().out == "`normalised` calls `total`, which is not written yet.\n"


def test_a_half_written_function_is_judged_by_its_results(capsys):
    half = "def normalised(x):\n    if x.shape[-1] == 0:\n        raise ValueError\n    raise NotImplementedError"
    with pytest.raises(CheckFailed):
        check(defined(half))
    shown = capsys.readouterr().out
    assert "not written yet. (On the case" in shown and "✓ errors (1 of 1 cases)" in shown


@pytest.mark.parametrize("value", [None, 3, np.ones(2), "softmax"])
def test_a_value_in_place_of_a_function_is_explained(value):
    with pytest.raises(TypeError, match="the function itself"):
        check(value)


def test_an_exercise_in_pytorch_says_how_to_install_it(capsys, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    check(type("MultiHeadAttention", (), {}))
    assert "pip install torch" in capsys.readouterr().out


def test_html_escapes_what_the_student_wrote(key):
    def rude(x):
        raise RuntimeError("<script>alert(1)</script>")

    html = messages.as_html(grade(key, [run(rude, case.inputs) for case in key.cases]))
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_the_picture_shows_the_slice_with_the_worst_entry():
    expected = np.zeros((2, 3, 40))
    value = expected.copy()
    value[1, 2, 37] = 1.0
    drawn = picture(expected, value, "weights")
    assert "at index [1]" in drawn and "rgba(210,95,0,1.00)" in drawn and "role='img'" in drawn


@pytest.mark.parametrize("shape", [(2, 3), (12, 12), (40, 40), (1, 12), (8, 1)])
def test_the_picture_is_large_enough_and_its_panels_fit_on_a_phone(shape):
    drawn = picture(np.zeros(shape), np.ones(shape), "weights")
    panels = [list(map(int, sizes)) for sizes in re.findall(r"<svg width='(\d+)' height='(\d+)'", drawn)]
    assert len(panels) == 3 and "flex-wrap:wrap" in drawn
    assert max(max(sizes) for sizes in panels) <= 216
    cells = {int(side) for side in re.findall(r"<rect [^>]* width='(\d+)'", drawn)}
    assert min(cells) >= 17 and (max(shape) > 6 or cells == {35})


@pytest.mark.parametrize("value", [None, np.ones(3), np.full((2, 2), np.nan), np.array([[True]])])
def test_the_picture_can_be_drawn_for_any_value(value):
    assert isinstance(picture(np.ones((2, 2)), value, "weights"), str)


def test_checked_returns_the_result_without_showing_it(capsys):
    assert checked(normalised).result.passed
    verdict = checked(lambda x: (x / x.sum(), x))
    assert not verdict.result.passed and verdict.result.mistake.name == "divides by the whole sum"
    assert verdict.text in repr(verdict) and "verdict-fail" in verdict.html
    assert capsys.readouterr().out == ""


def test_without_pytorch_a_module_has_neither_passed_nor_failed(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(NoPyTorch, match="Module is a PyTorch module"):
        checked(type("Module", (), {}))


def test_inputs_are_shown_in_the_same_way_on_every_platform(monkeypatch):
    inputs = {"tokens": np.arange(3), "none": np.arange(0), "rng": np.random.default_rng(1)}
    expected = "tokens = array([0, 1, 2])\nnone = array([], dtype=int64)\nrng = Generator(PCG64)"
    assert input_text.as_text(inputs, "") == expected
    monkeypatch.setattr(input_text, "repr", lambda value: "array([0, 1, 2],\n      dtype=int64)", raising=False)
    assert input_text.as_text({"tokens": 0}, "") == "tokens = array([0, 1, 2])"


def test_printed_text_is_shown_below_its_case(capsys, key):
    def normalised(x):
        if x.shape[-1] == 2:
            print("max is", 3.0)
            print("so")
        raise ValueError("not yet")

    with pytest.raises(CheckFailed):
        check(normalised)
    two_wide = [case.name for case in key.cases if case.inputs["x"].shape[-1] == 2]
    printed = "".join(f"Printed in the case {name!r}:\nmax is 3.0\nso\n" for name in two_wide)
    assert capsys.readouterr().out.startswith(printed) and printed


def test_text_that_an_interrupted_loop_has_printed_is_shown(capsys, key):
    def normalised(x):
        print("here")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(normalised)
    assert capsys.readouterr().out == f"Printed in the case {key.cases[0].name!r}:\nhere\n"


def test_a_wrong_exercise_that_only_the_students_own_code_calls_is_named(capsys, monkeypatch, key):
    """The exercise is also named if a function that is not an exercise calls it."""
    monkeypatch.setattr(module, "_has_key", lambda name: name in ("helper", "normalised"))
    monkeypatch.setattr(module, "public_key", lambda name: key)
    space = {"helper": lambda x: (x, None)}
    exec("def between(x): return helper(x)\ndef normalised(x): return between(x)", space)
    with pytest.raises(CheckFailed):
        check(space["normalised"])
    assert "It calls `helper`, which is also wrong. Fix that first." in capsys.readouterr().out


def test_a_wrong_exercise_that_the_code_does_not_call_is_not_named(capsys, monkeypatch):
    """The reference calls the exercise that the code does not call."""
    keys = {exercise.name: make_questions(exercise, 1) for exercise in exercises_of("01_attention")[:3]}
    monkeypatch.setattr(module, "_has_key", keys.__contains__)
    monkeypatch.setattr(module, "public_key", keys.__getitem__)
    space = {"softmax": lambda scores: scores}
    exec("def attention_weights(queries, keys): return queries @ keys.swapaxes(-1, -2)", space)
    with pytest.raises(CheckFailed):
        check(space["attention_weights"])
    assert "softmax" not in capsys.readouterr().out


def test_text_that_a_helper_prints_is_not_shown(capsys, monkeypatch, key):
    def helper(x):
        print("in the helper")
        return x, None

    monkeypatch.setattr(module, "_has_key", lambda name: name == "helper")
    space = {"helper": helper}
    exec("def normalised(x):\n    return helper(x)[0], None", space)
    with pytest.raises(CheckFailed):
        check(space["normalised"])
    assert "in the helper" not in capsys.readouterr().out
