"""Shared by the tests of the solutions: the relative error of a result, and shapes in which all sizes differ."""

from types import SimpleNamespace

import numpy as np
import pytest


def relative_error(actual, expected):
    """Return the L2 distance of two arrays or tensors divided by the expected norm, or 0 for two arrays of zeros."""
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    distance, norm = np.linalg.norm(actual - expected), np.linalg.norm(expected)
    return distance / norm if norm else distance


# L2 relative error allowed against PyTorch.
TOLERANCE = {np.float64: 1e-12, np.float32: 5e-6}


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def dtype(request):
    return request.param


@pytest.fixture(params=[(), (3,), (2, 5)], ids=["no batch axis", "one batch axis", "two batch axes"])
def batch(request):
    return request.param


@pytest.fixture
def sizes():
    """Return sizes that all differ, so that a transposed or wrong axis is noticed."""
    return SimpleNamespace(T=6, T_query=4, T_key=7, d_model=12, d_key=5, d_value=9, n_heads=3, d_ff=10, vocab=11)


@pytest.fixture
def rng():
    return np.random.default_rng(2017)
