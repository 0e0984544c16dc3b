"""A PyTorch module is called with given weights, so that two right modules agree on every number."""

from functools import partial

import numpy as np
import pytest
import torch

from check import values
from check.calling import Raised, run, value_of

pytestmark = pytest.mark.autograder

INPUTS = {
    "arguments": {"n": 3},
    "weights": {"linear.weight": np.arange(6.0).reshape(2, 3), "linear.bias": np.ones(2)},
    "inputs": [np.array([[1.0, 2.0, 3.0]]), None],
}


class Affine(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = torch.nn.Linear(n, 2)

    def forward(self, x, mask):
        return self.linear(x), x


@pytest.mark.parametrize("x", [np.ones((2, 3)).T, [np.ones(2), {"a": (np.ones(1), None, 3)}]])
def test_a_function_gets_copies_of_its_inputs_and_no_array_is_packed_for_that(x, monkeypatch):
    packed = []
    pack_array = values._pack_array
    monkeypatch.setattr(values, "_pack_array", lambda *array: packed.append(array) or pack_array(*array))
    copied = value_of(lambda x: x, {"x": x}).value
    assert not packed
    np.testing.assert_equal(copied, x)
    assert not any(map(np.shares_memory, values.pack(copied)[1], values.pack(x)[1]))


def test_given_weights_decide_the_output():
    output, x = run(Affine, INPUTS).value
    np.testing.assert_array_equal(output, [[9.0, 27.0]])
    np.testing.assert_array_equal(x, INPUTS["inputs"][0])


@pytest.mark.parametrize("training", [True, False])
def test_a_module_is_in_training_if_the_case_says_so(training):
    class Mode(Affine):
        def forward(self, x, mask):
            return torch.tensor(self.training)

    assert run(Mode, INPUTS | {"training": training}).value == training


def test_a_module_with_other_parts_gets_an_error_that_names_them():
    class Other(Affine):
        def __init__(self, n):
            super().__init__(n)
            self.extra = torch.nn.Linear(1, 1)

    raised = run(Other, INPUTS).raised
    assert raised.type == "RuntimeError" and "extra.weight" in raised.message


def test_the_mark_of_a_message_does_not_depend_on_what_raised_it():
    def first(x):
        return first(x, 1)

    class Other:
        def forward(self, x):
            return self.forward(x, 1)

    ours, theirs = (run(function, {"x": 0}).raised for function in (first, Other().forward))
    assert ours.type == theirs.type == "TypeError" and ours.message != theirs.message
    assert ours.mark != run(len, {"obj": 0}).raised.mark
    missing = (run(function, {}).raised for function in (lambda x: x, first))
    assert len({raised.mark for raised in missing}) == 1


@pytest.mark.parametrize("message", ["max() arg is an empty sequence", "max() iterable argument is empty"])
def test_the_mark_of_a_message_is_the_same_in_each_python(message):
    assert run(lambda x: max(x), {"x": []}).raised.mark == Raised("ValueError", message).mark


def test_only_a_function_with_a_definition_of_its_own_has_its_parameters_named():
    def own(x, axis, *rest, eps=1, **others):
        return x

    def calls_wrongly(scores):
        return own()

    (definition,) = run(own, {"scores": 1}).raised.places
    assert [operand.source for operand in definition.operands] == ["x", "axis", "rest", "eps", "others"]
    for answer in (np.exp, partial(own, axis=1), calls_wrongly):
        assert run(answer, {"scores": 1}).raised.places == ()
