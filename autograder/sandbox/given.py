"""Answer, outside a submission's sandbox, its calls of functions that are inputs of a case.

Inside, a decoder with its code, its name or its weights would tell whether it leaks, and a function that a student's
test is tried on would tell whether it is right.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from autograder.sandbox.process import AnswerQuestion, CallBack
from autograder.sandbox.under_test import Answers, Points
from check import given_functions, values
from check.tested import FunctionUnderTest

MAX_ENTRIES = 1000  # of an argument; the slowest of these functions then takes a second


def functions_among(inputs: Mapping[str, Any]) -> dict[str, Callable]:
    """Return the inputs that are functions, by name."""
    return {
        name: value
        for name, value in inputs.items()
        if isinstance(value, FunctionUnderTest) or given_functions.is_given(value)
    }


def answering(
    functions: Mapping[str, Callable], otherwise: AnswerQuestion | None, points: Mapping[str, Points]
) -> AnswerQuestion | None:
    """Return what answers questions about these functions.

    otherwise: answers all other questions. points: exercise -> the points of its functions under test so far.
    """
    if not functions:
        return otherwise
    under_test = {
        name: Answers(function, points[function.exercise])
        for name, function in functions.items()
        if isinstance(function, FunctionUnderTest)
    }

    def answer(tree: Any, arrays: list[np.ndarray], deadline: float, call_back: CallBack) -> bytes:
        match values.unpack(tree, arrays):
            case {"function": str(name), "args": tuple(args), "kwargs": dict(kwargs)} if name in under_test:
                n_bytes = len(json.dumps(tree)) + sum(array.nbytes for array in arrays)
                return under_test[name].at((args, kwargs), n_bytes)
            case {"function": str(name), "point": int(number)} if name in under_test:
                return under_test[name].at_number(number)
            case {"function": str(name), "args": (x,)} if name in functions:
                return _frame(functions[name], x)
        if otherwise is None:
            raise values.Malformed("a question that is not about an input")
        return otherwise(tree, arrays, deadline, call_back)

    return answer


def _frame(function: Callable, x: Any) -> bytes:
    """Return a function's value as a frame, or the type of the exception that it raises."""
    value, raised = None, ""
    try:
        if type(x) is not np.ndarray:
            raise TypeError
        if x.size > MAX_ENTRIES:
            raise ValueError
        with np.errstate(all="ignore"):
            value = function(x)
    except Exception as error:
        raised = type(error).__name__
    tree, arrays = values.pack({"value": value, "raised": raised})
    return frames.encode({"answer": tree}, arrays)
