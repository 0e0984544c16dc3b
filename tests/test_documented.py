"""The documentation says what no wall stops, and what instructors have to do about it."""

import numpy as np
import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import public_key
from autograder.layout import REPO
from check.calling import run
from check.scoring import grade
from solutions.backward import linear

pytestmark = pytest.mark.autograder

SAID = {
    "values are judged, not derivations": ("chapters/sandbox.md", "`linear_backward` that takes complex steps"),
    "no scheduler without certificates": ("chapters/course.md", "never use `tcp://` on a machine where students have"),
    "nor on a hub": ("autograder/hub/deploy/README.md", "never start a Dask scheduler with a `tcp://` address"),
    "other applications on the server": ("chapters/operating.md", "Give the book a host name of its own"),
    "what a submission can read": ("chapters/sandbox.md", "In `/proc` a submission can still read"),
}


@pytest.mark.parametrize(("file", "words"), SAID.values(), ids=SAID)
def test_the_documentation_says_it(file, words):
    assert words in " ".join((REPO / file).read_text(encoding="utf-8").split())


def test_complex_steps_earn_linear_backward():
    def linear_backward(grad_output, cache):
        arrays = [*cache, np.zeros(cache[1].shape[1], cache[1].dtype)]
        return tuple(slopes(i, arrays, grad_output) for i in range(len(arrays)))

    def slopes(i, arrays, grad_output):
        gradient = np.zeros_like(arrays[i])
        for entry in np.ndindex(gradient.shape):
            nudged = [array.astype(complex) for array in arrays]
            nudged[i][entry] += 1e-20j
            gradient[entry] = (grad_output * linear(*nudged)[0].imag).sum() / 1e-20
        return gradient

    key = public_key(find_exercise("linear_backward"))
    assert grade(key, [run(linear_backward, case.inputs) for case in key.cases]).passed
