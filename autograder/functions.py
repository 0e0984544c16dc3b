"""Functions that a case may hand to an exercise.

A key holds numbers, never code, so a case names one of these instead (`numerical_gradient` is asked for
the slopes of `weighted_sines`, say). Each is smooth, scalar-valued, and takes one array of any shape.
"""

import numpy as np


def sum_of_squares(x):
    """x: any shape -> a scalar, the sum of x**2; its gradient is 2x."""
    return np.sum(x * x)


def weighted_sines(x):
    """x: any shape -> a scalar, the sum of k sin(x_k) over the entries k = 1, 2, ..."""
    return np.sum(np.arange(1, x.size + 1).reshape(x.shape) * np.sin(x))


def by_name(name):
    """The function of that name; KeyError if there is none."""
    return _FUNCTIONS[name]


def is_named(value):
    """Whether a value is one of these functions."""
    return any(value is function for function in _FUNCTIONS.values())


_FUNCTIONS = {f.__name__: f for f in (sum_of_squares, weighted_sines)}
