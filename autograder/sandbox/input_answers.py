"""Answer a submission's calls of functions among the inputs of a case, outside its sandbox.

Inside the sandbox, the code, the name or the weights of a decoder would reveal whether it leaks, and the code of a
function under test would reveal whether it is right.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from autograder.sandbox.inside.stand_ins import array_key
from autograder.sandbox.process import AnswerQuestion, CallBack
from autograder.sandbox.under_test import Answers, Points
from check import input_functions, values
from check.tested import FunctionUnderTest

MAX_ENTRIES = 1000  # entries of an argument; with so many, the slowest of these functions takes a second
FIRST = 4  # the number of values sent ahead at first, which doubles each time

# Yields the arguments with which a right answer is likely to call a function among the inputs, in this order.
LikelyArguments = Callable[..., Iterable[np.ndarray]]


def functions_among(inputs: Mapping[str, Any]) -> dict[str, Callable]:
    """Return the inputs that are functions, by name."""
    return {
        name: value
        for name, value in inputs.items()
        if isinstance(value, FunctionUnderTest) or input_functions.is_input_function(value)
    }


def answering(
    inputs: Mapping[str, Any],
    likely: LikelyArguments | None,
    otherwise: AnswerQuestion | None,
    points: Mapping[str, Points],
) -> AnswerQuestion | None:
    """Return a function that answers questions about the functions among the inputs of a case.

    likely: makes the likely arguments from the inputs; None if we know none. otherwise: answers all other questions.
    points: exercise -> the points so far of its functions under test.
    """
    functions = functions_among(inputs)
    if not functions:
        return otherwise
    under_test = {
        name: Answers(function, points[function.exercise])
        for name, function in functions.items()
        if isinstance(function, FunctionUnderTest)
    }
    of_book = {
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
            case {"function": str(name), "args": (x,)} if name in of_book:
                return of_book[name].at(x)
        if otherwise is None:
            raise values.Malformed("a question that is not about an input")
        return otherwise(tree, arrays, deadline, call_back)

    return answer


class _Values:
    """The values of one function of the book. We send some of them before the submission asks for them."""

    def __init__(self, function: Callable, likely: list[np.ndarray]) -> None:
        """likely: arguments of one shape."""
        self._function = function
        self._likely = likely
        self._numbers = {array_key(x): number for number, x in enumerate(likely)}
        self._is_sent = np.zeros(len(likely), dtype=bool)
        self._length = FIRST

    def at(self, x: Any) -> bytes:
        """Return a frame with the value, or the type of the exception, and with values at likely arguments."""
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
        """Return the next likely arguments after x that were not sent yet, twice as many as last time."""
        number = self._numbers.get(array_key(x))
        if number is None:
            return []
        self._is_sent[number] = True
        following = number + np.flatnonzero(~self._is_sent[number:])[: self._length]
        self._is_sent[following] = True
        self._length *= 2
        return [self._likely[i] for i in following]
