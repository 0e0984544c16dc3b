"""Arrays that differ only by rounding become one."""

import numpy as np
import pytest

from autograder.authoring.rounding import DistinctArrays

VALUES = np.array([0.5, -3.0, 2.0])


@pytest.mark.parametrize(("dtype", "rounding"), [("float16", 5e-5), ("float32", 5e-8), ("float64", 5e-14)])
def test_an_array_is_replaced_by_an_earlier_one_from_which_it_differs_by_rounding(dtype, rounding):
    arrays, first = DistinctArrays(), VALUES.astype(dtype)
    assert arrays.representative(0, first) is first
    assert arrays.representative(0, first.copy()) is first
    near = (VALUES * (1 + rounding)).astype(dtype)
    assert arrays.representative(0, near) is first
    far = (VALUES * np.array([1, 1, 1 + 1e-2])).astype(dtype)
    assert arrays.representative(0, far) is far


def test_other_places_shapes_and_dtypes_are_not_compared():
    arrays, near = DistinctArrays(), VALUES * (1 + 5e-14)
    arrays.representative(0, VALUES)
    for place, array in ((1, near), (0, near[None]), (0, near.astype("float32"))):
        assert arrays.representative(place, array) is array


def test_infinite_entries_and_nan_are_close_to_nothing():
    arrays, infinite = DistinctArrays(), np.array([1.0, np.inf])
    arrays.representative(0, infinite)
    nearly = np.array([1 + 5e-14, np.inf])
    assert arrays.representative(0, nearly) is nearly
    arrays.representative(0, np.array([1.0, 2.0]))
    for entries in ([np.nan, 2.0], [1.0, np.nan]):
        array = np.array(entries)
        assert arrays.representative(0, array) is array
