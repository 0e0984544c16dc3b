"""An exercise that asks for a test, in a page: Python tries it on the reader's own function."""

import inspect

import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import public_key
from book.live.in_page import exercise_run
from check import bundle_data, key
from solutions import attention, backward

pytestmark = pytest.mark.book

NAME = "tests_softmax_backward"
SETUP = "import numpy as np\n" + inspect.getsource(attention.softmax)
OWN = ("softmax_backward", inspect.getsource(backward.softmax_backward))
MEASURING = ("numerical_gradient", inspect.getsource(backward.numerical_gradient))
HONEST = (NAME, inspect.getsource(backward.tests_softmax_backward))


@pytest.fixture(scope="module", autouse=True)
def keys(tmp_path_factory):
    """The public keys that a page has."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "keys").mkdir()
    for name in (NAME, OWN[0], MEASURING[0]):
        key.save(public_key(find_exercise(name)), folder / "keys" / f"{name}.npz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(bundle_data.FOLDER, str(folder))
        yield


def run_in_page(*cells):
    return exercise_run.run({"name": NAME, "cells": cells, "setup": SETUP, "earlier": [], "helpers": {}})


def test_a_right_test_passes():
    assert run_in_page(MEASURING, OWN, HONEST)["passed"]


def test_without_the_reader_s_function_the_page_says_what_to_do():
    answer = run_in_page(MEASURING, HONEST)
    assert not answer["passed"] and "is tried on your own <code>softmax_backward</code>" in answer["html"]


def test_a_survivor_is_named():
    answer = run_in_page(OWN, (NAME, f"def {NAME}(function):\n    return True"))
    assert "Your test accepts a function that" in answer["html"] and not answer["passed"]
