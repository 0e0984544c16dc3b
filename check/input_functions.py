"""Functions that a case may hand to an exercise.

A key holds numbers, never code, so a case names one of these instead. Students' code gets it wrapped by `disguised`.

Exercises measure the slopes of the scalar functions, which are smooth and take one array of any shape. They search the
decoders, from (T, ...) to (T, ...), for leaks: in a tight decoder, output t depends only on the inputs up to t.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def sum_of_squares(x: np.ndarray) -> np.floating:
    """x: any shape -> a scalar, the sum of x**2; its gradient is 2x."""
    return np.sum(x * x)


def weighted_sines(x: np.ndarray) -> np.floating:
    """x: any shape -> a scalar, the sum of k sin(x_k) over the entries k = 1, 2, ..."""
    return np.sum(np.arange(1.0, x.size + 1).reshape(x.shape) * np.sin(x))


def sum_of_cubes(x: np.ndarray) -> np.floating:
    """x: any shape -> a scalar, the sum of x**3; its central difference is 3x**2 + h**2."""
    return np.sum(x * x * x)


def log_sum_exp(x: np.ndarray) -> np.floating:
    """x: any shape -> a scalar, the logarithm of the sum of exp(x); its slopes depend on every entry."""
    return np.log(np.sum(np.exp(x)))


# ---------------------------------------------------------------------------------------- tight decoders


def each_position_alone(x: np.ndarray) -> np.ndarray:
    """Output t is made from input t alone."""
    return np.tanh(x)


def running_sum(x: np.ndarray) -> np.ndarray:
    """Output t is the sum of the inputs up to t."""
    return np.cumsum(x, axis=0)


def sum_of_the_past(x: np.ndarray) -> np.ndarray:
    """Output t is the sum of the inputs before t, without input t."""
    return np.cumsum(x, axis=0) - x


def all_minus_the_future(x: np.ndarray) -> np.ndarray:
    """The running sum, computed as the total minus the later inputs: the future cancels, up to rounding."""
    return x.sum(axis=0) - (np.cumsum(x[::-1], axis=0)[::-1] - x)


def running_share(x: np.ndarray) -> np.ndarray:
    """The running sum, divided by the length: each output depends on the length, but not on the later inputs."""
    return np.cumsum(x, axis=0) / len(x)


def looks_back(x: np.ndarray) -> np.ndarray:
    """x: (T, d). A soft look-up from each position among the vectors so far."""
    return _looked_up(x, 0)


# ---------------------------------------------------------------------------------------- leaky decoders


def looks_around(x: np.ndarray) -> np.ndarray:
    """x: (T, d). The soft look-up among all vectors, later ones too."""
    return _looked_up(x, len(x))


def looks_one_ahead(x: np.ndarray) -> np.ndarray:
    """x: (T, d). The soft look-up, with the boundary one place too far."""
    return _looked_up(x, 1)


def divides_by_all(x: np.ndarray) -> np.ndarray:
    """x: (T, d). A sum over only the past, but divided by the strengths of all positions."""
    strengths = np.exp(np.einsum("td,sd->ts", x, x) / x.shape[-1])
    return np.tril(strengths) @ x / strengths.sum(axis=1, keepdims=True)


def centred_over_time(x: np.ndarray) -> np.ndarray:
    """x minus its mean over all positions: each output depends a little on every input."""
    return x - x.mean(axis=0)


def whispers(x: np.ndarray) -> np.ndarray:
    """A running sum plus a thousandth of the sum of all inputs."""
    return np.cumsum(x, axis=0) + 1e-3 * x.sum(axis=0)


def breathes(x: np.ndarray) -> np.ndarray:
    """Each position alone, plus a trace of all others, a thousand times larger than rounding errors."""
    return np.tanh(x) + 2e-4 * np.tanh(x.sum(axis=0))


def breathes_near_a_hundred(x: np.ndarray) -> np.ndarray:
    """The same trace, in outputs near 100."""
    return 100 + breathes(x)


def hears_above_three(x: np.ndarray) -> np.ndarray:
    """Each position alone, plus the part of the next input above 3."""
    return _with_next_heard(x, np.maximum(x[1:] - 3, 0))


def above_three_hears(x: np.ndarray) -> np.ndarray:
    """Each position alone, plus the next input where its own is above 3."""
    return _with_next_heard(x, np.where(x[:-1] > 3, x[1:], 0))


def hears_opposites(x: np.ndarray) -> np.ndarray:
    """Each position alone, plus the size of its product with the next input where their signs differ."""
    return _with_next_heard(x, np.maximum(-x[:-1] * x[1:], 0))


def hears_with_both_signs(x: np.ndarray) -> np.ndarray:
    """x: (T, d), d at least 2. The last input changes two features of each position, but not their sum."""
    output = np.tanh(x)
    output[:-1, 0] += x[-1, 0]
    output[:-1, 1] -= x[-1, 0]
    return output


def first_hears_the_phase_of_the_last(x: np.ndarray) -> np.ndarray:
    """Position 0 gets the cosine of the last input, with period 1: the same for x, x + 1 and -x."""
    return _with_one_leak(x, 0, np.cos(2 * np.pi * x[-1:]))


def first_hears_second(x: np.ndarray) -> np.ndarray:
    """Each position alone, except that position 0 also gets input 1."""
    return _with_one_leak(x, 0, x[1:2])


def first_hears_third(x: np.ndarray) -> np.ndarray:
    """Each position alone, except that position 0 also gets input 2."""
    return _with_one_leak(x, 0, x[2:3])


def last_but_one_hears_last(x: np.ndarray) -> np.ndarray:
    """Each position alone, except that the last but one also gets the last input."""
    return _with_one_leak(x, -2, x[-1:]) if len(x) > 1 else np.tanh(x)


class Waves:
    """A scalar function that grading draws anew: the sum of sin(weights * x). weights: an array in the shape of x."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def __call__(self, x: np.ndarray) -> np.floating:
        return np.sum(np.sin(self.weights * x))

    def __repr__(self) -> str:
        return "a sum of waves"


class Mixture:
    """A random decoder: output t is the tanh of all inputs added up, input s times weights[t, s].

    weights: (T, T), for sequences of up to T positions. It is tight where they are lower triangular. Grading draws
    them anew, so that no table of the decoders above says which of its decoders leak.
    """

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.tanh(np.tensordot(self.weights[: len(x), : len(x)], x, axes=1))

    def __repr__(self) -> str:
        return "a mixture of the inputs"


def _looked_up(x: np.ndarray, n_ahead: int) -> np.ndarray:
    """x: (T, d). Output t is the mean of the inputs up to t + n_ahead, weighted by how much they are like input t."""
    strengths = np.tril(np.exp(x @ x.T / x.shape[-1]), n_ahead)
    return strengths @ x / strengths.sum(axis=1, keepdims=True)


def _with_one_leak(x: np.ndarray, position: int, heard: np.ndarray) -> np.ndarray:
    output = np.tanh(x)
    output[position] += heard.sum(axis=0)
    return output


def _with_next_heard(x: np.ndarray, heard: np.ndarray) -> np.ndarray:
    output = np.tanh(x)
    output[:-1] += heard
    return output


def is_input_function(value: object) -> bool:
    """Whether a value is one of these functions, named or drawn."""
    return type(value) in DRAWN.values() or is_named(value)


def disguised(function: Callable) -> Callable:
    """Return a function of one array with the same values, but with no name or attribute that identifies `function`.

    It converts its argument to an array of real numbers, because the sandbox can send nothing else, and raises
    TypeError if that is impossible.
    """

    def function_of_array(x: Any) -> Any:
        x = np.array(x)
        if x.dtype.kind not in "biuf":
            raise TypeError("this function takes an array of real numbers")
        return function(x.astype(np.float64) if x.dtype == np.longdouble else x)

    return function_of_array


def by_name(name: str) -> Callable:
    """Return the function with this name. Raises KeyError if there is none."""
    return _FUNCTIONS[name]


def is_named(value: object) -> bool:
    """Whether a value is one of these functions."""
    return callable(value) and any(value is function for function in _FUNCTIONS.values())


DRAWN: dict[str, type[Waves] | type[Mixture]] = {"waves": Waves, "mixture": Mixture}
_SCALARS = (sum_of_squares, weighted_sines, sum_of_cubes, log_sum_exp)
_TIGHT = (each_position_alone, running_sum, sum_of_the_past, all_minus_the_future, running_share, looks_back)
LEAKY = (
    *(looks_around, looks_one_ahead, divides_by_all, centred_over_time, whispers, breathes),
    *(first_hears_second, first_hears_third, first_hears_the_phase_of_the_last, last_but_one_hears_last),
    *(breathes_near_a_hundred, hears_above_three, above_three_hears, hears_opposites, hears_with_both_signs),
)
_FUNCTIONS = {f.__name__: f for f in (*_SCALARS, *_TIGHT, *LEAKY)}
