"""Right answers that differ only by rounding are accepted with every key of the model's exercises."""

import numpy as np
import pytest

from autograder.authoring.exercise import find_exercise
from autograder.exercises.model.shared import well_conditioned
from benchmarks import rounding

pytestmark = pytest.mark.autograder


def centred(x):
    return x - x.mean(), None


def test_inputs_that_lose_most_digits_are_drawn_again():
    nearly_equal, apart = ({"x": np.array(x, np.float32)} for x in ([1000, 1000.1, 1000.3], [1, -2, 3.5]))
    assert well_conditioned(centred, iter([nearly_equal, apart]).__next__) is apart


def test_a_norm_of_nearly_equal_numbers_does_not_reject_sums_in_another_order():
    """With this key `decode` was off by 2e-05 of its largest logit when its sums began at the end."""
    assert rounding.decided_by_rounding(find_exercise("decode"), 1725) == []
