"""What exercises that ask for a test have in common: mistakes of weak tests, and wrong functions for tests to find."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from autograder.authoring.exercise import Exercise
from check.tested import named_arguments

NO_CONCLUSION = "A test that ends without a `return` and without an `assert` accepts."


def usual_wrong_tests(
    exercise: Exercise,
    *,
    accepts: str,
    ends: str = NO_CONCLUSION,
    rejects: str = "",
    shape_only: Callable | None = None,
    dtype_unwatched: Callable | None = None,
    result: str = "result",
) -> None:
    """Register the mistakes that weak tests of every function make.

    Args:
        exercise: the exercise that asks for a test.
        accepts, ends: what a student whose test accepts every function should do, and why it may do so.
        rejects: what a student whose test rejects every function should do; "" to leave this mistake out.
        shape_only, dtype_unwatched: tests that look only at the shape, and tests that do not look at the dtype. One
            with a docstring has its own message.
        result: what the tested function returns, in the message about the dtype.
    """
    right_test = exercise.reference

    def accepts_everything(function: Callable) -> None:
        return

    def rejects_everything(function: Callable) -> bool:
        return False

    def answer_inverted(function: Callable) -> bool:
        return not right_test(function)

    def register(name: str, wrong: Callable | None, message: str) -> None:
        if wrong:
            wrong.__doc__ = wrong.__doc__ or message
            exercise.mistake(name)(wrong)

    register("accepts every function", accepts_everything, f"Your test accepts whatever it is given. {accepts} {ends}")
    if rejects:
        message = f"Your test rejects right functions and wrong ones alike. {rejects}"
        register("rejects every function", rejects_everything, message)
    register(
        "says True of wrong functions and False of right ones",
        answer_inverted,
        "Your answers are the wrong way round. True accepts a function.",
    )
    register(
        "looks at the shape alone",
        shape_only,
        "Your test accepts functions that return the right shape with wrong numbers. Compare the numbers.",
    )
    register(
        "does not look at the dtype",
        dtype_unwatched,
        "Your test accepts a function that returns float64 for float32. Call it with float32 once, and look at the "
        f"dtype of the {result}.",
    )


def changed(right: Callable, change: Callable[[np.ndarray], np.ndarray]) -> Callable:
    """A wrong function that returns what the right one returns, or the first of several outputs, with a change."""

    @wraps(right)
    def wrong(*args: Any, **kwargs: Any) -> Any:
        output = right(*args, **kwargs)
        return (change(output[0]), *output[1:]) if isinstance(output, tuple) else change(output)

    return wrong


def in_double(output: np.ndarray) -> np.ndarray:
    """The output in float64."""
    return output.astype(np.float64)


def raising(right: Callable, applies: Callable[[int], bool]) -> Callable:
    """A wrong function that raises a ValueError if applies(number of axes of its first argument)."""

    @wraps(right)
    def wrong(*args: Any, **kwargs: Any) -> Any:
        first = next(iter(named_arguments(right, args, kwargs).values()))
        if applies(first.ndim):
            raise ValueError("too many or too few axes")
        return right(*args, **kwargs)

    return wrong
