"""Compare whole trees of gradients with central differences and with autograd."""

import numpy as np
import pytest
import torch

from solutions.backward import numerical_gradient
from tests.solutions.conftest import TOLERANCE, relative_error

# The fixture `sizes` has none of these sizes, so no axis can be mistaken for another.
leading_axes = pytest.mark.parametrize("leading", [(), (2,), (2, 8)], ids=["no batch", "one batch axis", "two"])


def tree_map(f, tree):
    """Return nested tuples, lists and dicts with f applied to every leaf."""
    if isinstance(tree, dict):
        return {name: tree_map(f, branch) for name, branch in tree.items()}
    if isinstance(tree, (tuple, list)):
        return tuple(tree_map(f, branch) for branch in tree)
    return f(tree)


def named_leaves(tree, path=""):
    """Return every leaf of a tree with its path."""
    if isinstance(tree, (dict, tuple, list)):
        branches = sorted(tree.items()) if isinstance(tree, dict) else enumerate(tree)
        return [leaf for name, branch in branches for leaf in named_leaves(branch, f"{path}/{name}")]
    return [(path, tree)]


def assert_close(actual, expected, tolerance):
    """Assert that two trees have the same names and shapes, and that no leaf's relative error exceeds the tolerance."""
    pairs = zip(named_leaves(actual), named_leaves(expected), strict=True)
    for (path, leaf), (expected_path, expected_leaf) in pairs:
        assert path == expected_path
        error = relative_error(leaf, expected_leaf)
        assert error <= tolerance, f"{path}: relative error {error:.1e}"


def measured_gradients(loss, tree):
    """Return the central differences of loss(tree) for every leaf of the tree."""
    if isinstance(tree, dict):
        return {
            name: measured_gradients(lambda new, name=name: loss({**tree, name: new}), branch)
            for name, branch in tree.items()
        }
    return numerical_gradient(loss, tree)


def assert_gradients_measured(layer, layer_backward, inputs, rng, tolerance=1e-7):
    """Compare every gradient of layer_backward with central differences, for a random cotangent."""
    output, cache = layer(*inputs)
    cotangent = rng.normal(size=output.shape)
    gradients = layer_backward(cotangent, cache)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    for i, (gradient, value) in enumerate(zip(gradients, inputs, strict=True)):
        measured = measured_gradients(
            lambda new, i=i: np.sum(cotangent * layer(*inputs[:i], new, *inputs[i + 1 :])[0]), value
        )
        if isinstance(gradient, dict):
            gradient, measured = without_key_bias(gradient), without_key_bias(measured)
        assert_close(gradient, measured, tolerance)


def assert_same_as_torch(layer, layer_backward, torch_layer, inputs, rng):
    """Compare output, dtypes and every gradient with autograd on the same inputs. Also check that no input changes."""
    dtype = named_leaves(inputs)[0][1].dtype
    tolerance = TOLERANCE[dtype.type]
    before = tree_map(np.copy, inputs)
    output, cache = layer(*inputs)
    cotangent = rng.normal(size=output.shape).astype(dtype)
    gradients = layer_backward(cotangent, cache)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    assert {leaf.dtype for _, leaf in named_leaves((output, gradients))} == {dtype}
    assert_close(inputs, before, 0)

    tensors = tree_map(lambda leaf: torch.tensor(leaf, requires_grad=True), inputs)
    torch_output = torch_layer(*tensors)
    torch_output.backward(torch.tensor(cotangent))
    torch_gradients = tree_map(lambda leaf: leaf.grad.numpy(), tensors)
    assert_close(output, torch_output.detach().numpy(), tolerance)
    assert_close(without_key_bias(gradients), without_key_bias(torch_gradients), tolerance)


def without_key_bias(tree):
    """Return gradients without those of key biases, which are rounding errors and have no relative error."""
    if isinstance(tree, dict):
        return {name: without_key_bias(branch) for name, branch in tree.items() if name != "b_key"}
    return tuple(map(without_key_bias, tree)) if isinstance(tree, tuple) else tree


def random_arrays(rng, dtype, *shapes):
    """Return normally distributed arrays of the given shapes."""
    return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)
