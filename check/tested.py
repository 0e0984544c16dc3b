"""Try a student's test on a function, in exercises that ask for a test.

The test accepts the function if it returns True or nothing. It rejects the function if it returns False or raises
AssertionError. The calls have the same limits at home and in grading.
"""

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from math import prod
from typing import Any, NoReturn

import numpy as np

from check.trees import arrays_by_path

MAX_CALLS = 2_000  # calls of one function
MAX_AXIS = 100  # length of an argument's axis: the hidden functions may need the square of it
SHORTER_AXES = {"train_step": 20}  # exercise -> a shorter limit, for a function that needs more memory and time
MAX_ENTRIES = 20_000  # entries of all arguments of a call
MAX_ENTRIES_IN_ALL = 2_000_000  # entries in all calls of one function
MAX_INT = 1_000

TOO_MANY_CALLS = f"the test called the function more than {MAX_CALLS:,} times"
TOO_MANY_ENTRIES = f"the test handed the function more than {MAX_ENTRIES_IN_ALL:,} entries in all its calls together"
UNSUITABLE = "the function takes arrays of real numbers, numbers, strings, None, and lists, tuples and dicts of these"


@dataclass(frozen=True, repr=False)
class FunctionUnderTest:
    """A function that a case hands to a test. exercise: name of the exercise that it answers, rightly or wrongly."""

    exercise: str
    function: Callable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def max_axis(self) -> int:
        """The most entries along an axis of an argument, and the most items in a list or tuple."""
        return SHORTER_AXES.get(self.exercise, MAX_AXIS)

    def __repr__(self) -> str:
        return f"a function in place of {self.exercise}"


def verdict(test: Callable, inputs: dict[str, Any]) -> Any:
    """Return True if a test accepts the tested function among its inputs, False if it rejects it.

    Any other value that the test returns, and any exception of its own, is passed on.
    """
    handed = {
        name: _in_hand(value) if isinstance(value, FunctionUnderTest) else value for name, value in inputs.items()
    }
    try:
        value = test(**handed)
    except AssertionError:
        return False
    is_truth_value = isinstance(value, np.bool_ | np.ndarray) and value.shape == () and value.dtype == np.bool_
    return True if value is None else bool(value) if is_truth_value else value


def _in_hand(tested: FunctionUnderTest) -> Callable:
    """Hide the function's name and attributes, and limit its calls.

    The limits count calls and entries, not seconds, so that they stop the same tests on every machine.
    """
    calls = entries = 0

    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls, entries
        calls += 1
        if calls > MAX_CALLS:
            raise RuntimeError(TOO_MANY_CALLS)
        entries += suitable_entries((args, kwargs), tested.max_axis)
        if entries > MAX_ENTRIES_IN_ALL:
            raise RuntimeError(TOO_MANY_ENTRIES)
        return tested(*args, **kwargs)

    return function


def too_large(max_axis: int) -> str:
    """Return the limit that the arguments exceed, in words."""
    return (
        f"the arguments are too large: a call may have {MAX_ENTRIES:,} entries in all, {max_axis} along an axis, "
        f"and integers up to {MAX_INT:,}"
    )


def suitable_entries(arguments: Any, max_axis: int) -> int:
    """Return how many entries these arguments have.

    Raises TypeError or ValueError if the grader would not call a function with them.
    """
    entries, pending = 0, [arguments]
    while pending:
        value = pending.pop()
        entries += 1
        if isinstance(value, np.ndarray | np.generic):
            if value.dtype.kind not in "biuf" or value.dtype.itemsize > 8:
                raise TypeError(UNSUITABLE)
            if not value.ndim:
                pending.append(value.item())
            entries += prod(max(size, 1) for size in value.shape)
            is_too_large = max(value.shape, default=0) > max_axis
        elif isinstance(value, tuple | list):
            pending += value
            is_too_large = len(value) > max_axis
        elif type(value) is dict and all(type(key) is str for key in value):
            pending += value.values()
            is_too_large = len(value) > MAX_ENTRIES
        elif value is None or isinstance(value, bool | float | str):
            is_too_large = False
        elif type(value) is int:
            is_too_large = abs(value) > MAX_INT
        else:
            raise TypeError(UNSUITABLE)
        if is_too_large or entries > MAX_ENTRIES:
            raise ValueError(too_large(max_axis))
    return entries


def named_arguments(function: Callable, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, including defaults."""
    call = signature(function).bind(*args, **kwargs)
    call.apply_defaults()
    return call.arguments


def arrays_in(value: Any) -> list[np.ndarray]:
    """Return the arrays with at least one axis in nested lists, tuples and dicts, in a fixed order."""
    return [array for _, array in arrays_by_path(value) if array.ndim]


def out_of_reach(name: str) -> str:
    """Return why a test cannot call the student's own function."""
    return f"your own {name} cannot be called while your test runs: compare with something that you measure"


@contextmanager
def withheld(namespace: MutableMapping[str, Any], names: set[str]) -> Iterator[None]:
    """Replace functions in a namespace for a while, so that a test cannot compare with the student's own function."""
    own = {name: namespace[name] for name in names if name in namespace}
    namespace.update({name: _refusing(name) for name in own})
    try:
        yield
    finally:
        namespace.update(own)


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refusing(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(out_of_reach(name))

    return refusing


def tested_names(inputs: dict[str, Any]) -> set[str]:
    """The names of the exercises whose functions are under test in these inputs."""
    return {value.exercise for value in inputs.values() if isinstance(value, FunctionUnderTest)}
