"""Broken stacks: their gradients are slopes, except where the bug is in the gradient."""

import numpy as np
import pytest

from solutions import broken_stacks
from solutions.backward import numerical_gradient
from solutions.broken_stacks import BUGS, WIDTH, stack_record

ON_THE_WAY_BACK = "residual missing on the way back"


@pytest.mark.parametrize("bug", BUGS)
def test_gradients_are_slopes_except_where_they_are_the_bug(bug, rng):
    x, grad = rng.normal(size=(2, 3, WIDTH))
    weights = broken_stacks._fresh_weights(bug, rng)
    _, cache = broken_stacks._sub_layer(x, *weights, bug)
    ours, of_parameters = broken_stacks._sub_layer_backward(grad, cache, bug)

    def loss(x, *weights):
        return np.sum(grad * broken_stacks._sub_layer(x, *weights, bug)[0])

    measured = numerical_gradient(lambda x: loss(x, *weights), x, h=1e-6)
    assert np.allclose(ours, measured, atol=1e-5) == (bug != ON_THE_WAY_BACK)
    if bug == "gain at zero":  # relu has no slope there; by convention it is 0
        assert not any(gradient.any() for gradient in of_parameters)
        return
    for place, gradient in enumerate(of_parameters):
        along = rng.normal(size=gradient.shape)
        up, down = (
            loss(x, *(w + sign * 1e-6 * along if i == place else w for i, w in enumerate(weights))) for sign in (1, -1)
        )
        assert np.isclose(np.sum(gradient * along), (up - down) / 2e-6, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("bug", BUGS)
def test_the_same_generator_gives_the_same_record(bug):
    (record, first), (again, again_first) = (stack_record(bug, np.random.default_rng(3)) for _ in range(2))
    assert first == again_first and (first is None) == (bug == "nothing")
    assert all(np.array_equal(record[name], again[name]) for name in record)
