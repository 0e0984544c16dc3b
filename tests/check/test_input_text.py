"""How the inputs of a failing case are written."""

import numpy as np
import pytest

from check.input_text import MOST_LINES, as_text

pytestmark = pytest.mark.autograder
LAYER = {"w_in": np.ones((4, 8)), "w_out": np.ones((8, 4)), "gain": np.array([1.0, 2.0])}
MODEL = {"encoder": [LAYER] * 6, "decoder": [LAYER] * 6}


def test_small_inputs_are_written_in_full():
    assert as_text({"x": np.array([[1.0, 3.0]]), "pad": 0}, "") == "x = array([[1., 3.]])\npad = 0"


def test_a_whole_model_is_written_as_names_and_shapes_beside_a_small_input():
    text = as_text({"params": MODEL, "src": np.array([[1, 2]])}, "`loss` has the wrong value.")
    assert text.count("\n") < MOST_LINES
    assert "params = 36 arrays:\n['encoder'][0]['w_in']: float64 array of shape (4, 8)\n" in text
    assert "... and 26 more arrays" in text and "src = array([[1, 2]])" in text


def test_the_array_that_a_message_names_stays():
    text = as_text({"params": MODEL}, "`grad_params['gain']` has the right shape and wrong values")
    assert text.endswith("['encoder'][0]['gain'] = array([1., 2.])")


def test_a_long_array_is_written_by_its_shape():
    text = as_text({"x": np.ones((3, 5, 4)), "y": np.ones((4, 5, 3)), "mask": np.array([True])}, "")
    assert text.count("\n") < MOST_LINES and "mask = array([ True])" in text
    assert "y = float64 array of shape (4, 5, 3)" in text
