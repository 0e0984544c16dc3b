"""Chapter 6: positions follow the formula, shifts are rotations, and the look-up agrees with PyTorch."""

import math

import numpy as np
import pytest
import torch

from solutions.attention import softmax
from solutions.backward import numerical_gradient
from solutions.position import (
    embed,
    embed_backward,
    looks_back,
    positional_embedding,
    rotate,
    rotate_backward,
    shift_matrix,
    sinusoidal_encoding,
)
from tests.solutions.conftest import relative_error

pytestmark = pytest.mark.solutions


@pytest.mark.parametrize("length, d_model", [(1, 1), (5, 4), (7, 5), (3, 2), (0, 6), (50, 512)])
def test_the_encoding_is_the_paper_s_formula_for_even_and_odd_widths(length, d_model):
    encoding = sinusoidal_encoding(length, d_model)
    assert encoding.shape == (length, d_model)
    for p in range(length):
        for column in range(d_model):
            angle = p / 10000 ** (column // 2 * 2 / d_model)
            assert encoding[p, column] == pytest.approx((math.sin, math.cos)[column % 2](angle), abs=1e-12)


@pytest.mark.parametrize("k", [0, 1, 7, -3])
def test_a_shift_is_a_rotation(k):
    encoding = sinusoidal_encoding(30, 8)
    rotation = shift_matrix(k, 8)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(8), atol=1e-15)
    np.testing.assert_allclose(encoding[5:20] @ rotation, encoding[5 + k : 20 + k], atol=1e-12)


def test_shifts_add_up_and_odd_widths_have_none():
    np.testing.assert_allclose(shift_matrix(2, 6) @ shift_matrix(3, 6), shift_matrix(5, 6), atol=1e-14)
    with pytest.raises(ValueError, match="odd"):
        shift_matrix(1, 5)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 5), (0,)])
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 5e-6)])
def test_the_look_up_and_its_gradient_agree_with_pytorch(shape, dtype, tolerance):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(4, 5)).astype(dtype)
    tokens = rng.integers(0, 4, shape)
    output, cache = embed(tokens, table)
    cotangent = rng.normal(size=output.shape).astype(dtype)
    grad_table = embed_backward(cotangent, cache)

    weight = torch.tensor(table, requires_grad=True)
    expected = torch.nn.functional.embedding(torch.tensor(tokens), weight) * math.sqrt(5)
    expected.backward(torch.tensor(cotangent))
    assert output.dtype == grad_table.dtype == dtype
    assert relative_error(output, expected.detach().numpy()) <= tolerance
    assert relative_error(grad_table, weight.grad.numpy()) <= tolerance


@pytest.mark.parametrize("token", [-1, 4])
def test_a_token_outside_the_table_is_an_error(token):
    with pytest.raises(IndexError, match=r"0 \.\. 3"):
        embed(np.array([0, token]), np.ones((4, 2)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_positions_are_added_after_the_scaling_and_the_table_does_not_change(dtype):
    table = np.random.default_rng(1).normal(size=(6, 5)).astype(dtype)
    before = table.copy()
    tokens = np.array([[1, 1, 0], [5, 2, 1]])
    output, cache = positional_embedding(tokens, table)
    assert output.dtype == dtype
    np.testing.assert_allclose(output[1], table[tokens[1]] * math.sqrt(5) + sinusoidal_encoding(3, 5), rtol=1e-6)
    np.testing.assert_array_equal(table, before)
    np.testing.assert_array_equal(cache[0], tokens)
    later, _ = positional_embedding(tokens[:, 2:], table, start=2)
    np.testing.assert_array_equal(later, output[:, 2:])


@pytest.mark.parametrize("d_model", [4, 6, 64])
@pytest.mark.parametrize("k", [-30, -1, 0, 1, 2, 70])
def test_each_position_looks_k_positions_back(k, d_model):
    encoding = sinusoidal_encoding(200, d_model)
    w_query, w_key = looks_back(k, d_model)
    weights = softmax((encoding @ w_query) @ (encoding @ w_key).T / math.sqrt(w_query.shape[1]))
    assert (np.diagonal(weights, offset=-k) > 0.99).all()


def test_rotated_products_depend_on_the_distance_alone(rng):
    query, key = rng.normal(size=(2, 1, 6))
    products = [rotate(query, np.array([p + 3])) @ rotate(key, np.array([p])).T for p in (0, 5, 700)]
    np.testing.assert_allclose(products, products[0] * np.ones((3, 1, 1)), atol=1e-12)


def test_rotating_is_the_shift_matrix_of_minus_the_position(rng):
    x = rng.normal(size=(2, 5, 8))
    rows = np.stack([x[:, p] @ shift_matrix(-p, 8) for p in range(5)], axis=1)
    np.testing.assert_allclose(rotate(x, np.arange(5)), rows, atol=1e-12)
    assert rotate(x.astype(np.float32), np.arange(5)).dtype == np.float32


@pytest.mark.parametrize("shape", [(5, 6), (2, 5, 8), (3, 2, 5, 2)])
@pytest.mark.parametrize("dtype, tolerance", [(np.float64, 1e-12), (np.float32, 5e-6)])
def test_rotated_pairs_are_pytorch_s_complex_products_and_so_is_their_gradient(rng, shape, dtype, tolerance):
    x, cotangent = rng.normal(size=(2, *shape)).astype(dtype)
    positions = np.array([3, 0, 1, 250, 7])
    ours = torch.tensor(x, requires_grad=True)
    speeds = 10000.0 ** (-torch.arange(0, shape[-1], 2, dtype=torch.float64) / shape[-1])
    angles = torch.tensor(positions)[:, None] * speeds
    pairs = torch.view_as_complex(ours.unflatten(-1, (-1, 2)))
    expected = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2).to(ours.dtype)
    expected.backward(torch.tensor(cotangent))
    rotated, grad_x = rotate(x, positions), rotate_backward(cotangent, positions)
    assert rotated.dtype == grad_x.dtype == dtype
    assert relative_error(rotated, expected.detach().numpy()) <= tolerance
    assert relative_error(grad_x, ours.grad.numpy()) <= tolerance


def test_the_gradient_of_a_rotation_is_the_numerical_one(rng):
    x, cotangent = rng.normal(size=(2, 3, 4, 6))
    positions = np.array([5, 2, 0, 30])
    measured = numerical_gradient(lambda x: (cotangent * rotate(x, positions)).sum(), x)
    np.testing.assert_allclose(rotate_backward(cotangent, positions), measured, atol=1e-8)
