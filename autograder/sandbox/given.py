"""Answer, outside a submission's sandbox, its calls of functions that are inputs of a case.

Inside, a decoder with its code, its name or its weights would tell whether it leaks.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from autograder.sandbox.process import AnswerQuestion
from check import given_functions, values

MAX_ENTRIES = 1000  # of an argument; the slowest of these functions then takes a second


def functions_among(inputs: Mapping[str, Any]) -> dict[str, Callable]:
    """Return the inputs that are functions, by name."""
    return {name: value for name, value in inputs.items() if given_functions.is_given(value)}


def answering(functions: Mapping[str, Callable], otherwise: AnswerQuestion | None) -> AnswerQuestion | None:
    """Return what answers questions about these functions. `otherwise` answers all other questions."""
    if not functions:
        return otherwise

    def answer(tree: Any, arrays: list[np.ndarray], deadline: float) -> bytes:
        match values.unpack(tree, arrays):
            case {"function": str(name), "args": (x,)} if name in functions:
                return _frame(functions[name], x)
        if otherwise is None:
            raise values.Malformed("a question that is not about an input")
        return otherwise(tree, arrays, deadline)

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
