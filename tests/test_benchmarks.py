"""The benchmarks run with the code as it is now."""

from collections import Counter

import pytest

pytestmark = pytest.mark.grading


def test_the_benchmark_of_a_class_times_functions_that_exist_and_restores_them():
    from benchmarks import thousand

    functions = [getattr(owner, name) for _, owner, name in thousand.PARTS]
    with thousand.timed(Counter()):
        assert all(getattr(owner, name) not in functions for _, owner, name in thousand.PARTS)
    assert [getattr(owner, name) for _, owner, name in thousand.PARTS] == functions
