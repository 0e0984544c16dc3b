"""Answer, outside a submission's sandbox, its calls of functions that are inputs of a case.

Inside, a decoder with its code, its name or its weights would tell whether it leaks, and a function that a student's
test is tried on would tell whether it is right.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from autograder.sandbox.inside.stand_ins import array_key
from autograder.sandbox.process import AnswerQuestion, CallBack
from autograder.sandbox.under_test import Answers, Points
from check import given_functions, values
from check.tested import FunctionUnderTest

MAX_ENTRIES = 1000  # of an argument; the slowest of these functions then takes a second
FIRST = 4  # how many values come ahead at first; then twice as many each time

# Yields the arguments that a right answer is likely to give to a function among the inputs, in that order.
LikelyArguments = Callable[..., Iterable[np.ndarray]]


def functions_among(inputs: Mapping[str, Any]) -> dict[str, Callable]:
    """Return the inputs that are functions, by name."""
    return {
        name: value
        for name, value in inputs.items()
        if isinstance(value, FunctionUnderTest) or given_functions.is_given(value)
    }


def answering(
    inputs: Mapping[str, Any],
    likely: LikelyArguments | None,
    otherwise: AnswerQuestion | None,
    points: Mapping[str, Points],
) -> AnswerQuestion | None:
    """Return what answers questions about the functions among the inputs of a case.

    likely: of the inputs; None if it is not known. otherwise: answers all other questions. points: exercise -> the
    points of its functions under test so far.
    """
    functions = functions_among(inputs)
    if not functions:
        return otherwise
    under_test = {
        name: Answers(function, points[function.exercise])
        for name, function in functions.items()
        if isinstance(function, FunctionUnderTest)
    }
    given = {
        name: _Values(function, list(likely(**inputs)) if likely else [])
        for name, function in functions.items()
        if name not in under_test
    }

    def answer(tree: Any, arrays: list[np.ndarray], deadline: float, call_back: CallBack) -> bytes:
        match values.unpack(tree, arrays):
            case {"function": str(name), "args": tuple(args), "kwargs": dict(kwargs)} if name in under_test:
                n_bytes = len(json.dumps(tree)) + sum(array.nbytes for array in arrays)
                return under_test[name].at((args, kwargs), n_bytes)
            case {"function": str(name), "point": int(number)} if name in under_test:
                return under_test[name].at_number(number)
            case {"function": str(name), "args": (x,)} if name in given:
                return given[name].at(x)
        if otherwise is None:
            raise values.Malformed("a question that is not about an input")
        return otherwise(tree, arrays, deadline, call_back)

    return answer


class _Values:
    """The values of one function of the book. Some are sent before the submission asks for them."""

    def __init__(self, function: Callable, likely: list[np.ndarray]) -> None:
        """likely: arguments of one shape."""
        self._function = function
        self._likely = likely
        self._numbers = {array_key(x): number for number, x in enumerate(likely)}
        self._is_sent = np.zeros(len(likely), dtype=bool)
        self._length = FIRST

    def at(self, x: Any) -> bytes:
        """Return the value, or the type of the exception that it raises, and values at likely arguments, as a frame."""
        answer: dict[str, Any] = {"value": None, "raised": "", "points": None, "values": None}
        try:
            if type(x) is not np.ndarray:
                raise TypeError
            if x.size > MAX_ENTRIES:
                raise ValueError
            answer["value"] = self._called(x)
        except Exception as error:
            answer["raised"] = type(error).__name__
        else:
            points = self._following(x)
            answer |= {"points": np.array(points), "values": np.array(list(map(self._called, points)))}
        tree, arrays = values.pack(answer)
        return frames.encode({"answer": tree}, arrays)

    def _called(self, x: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            return self._function(x)

    def _following(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the next likely arguments after x, each of them once, and twice as many as the last time."""
        number = self._numbers.get(array_key(x))
        if number is None:
            return []
        self._is_sent[number] = True
        following = number + np.flatnonzero(~self._is_sent[number:])[: self._length]
        self._is_sent[following] = True
        self._length *= 2
        return [self._likely[i] for i in following]
