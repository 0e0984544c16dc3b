"""Answer, outside a submission's sandbox, its calls of functions that are inputs of a case.

Inside, a decoder with its code, its name or its weights would tell whether it leaks, and a function that a student's
test is tried on would tell whether it is right.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from autograder.sandbox.inside import frames
from autograder.sandbox.process import AnswerQuestion, CallBack
from check import given_functions, tested, values
from check.tested import FunctionUnderTest

MAX_ENTRIES = 1000  # of an argument; the slowest of these functions then takes a second


def functions_among(inputs: Mapping[str, Any]) -> dict[str, Callable]:
    """Return the inputs that are functions, by name."""
    return {
        name: value
        for name, value in inputs.items()
        if isinstance(value, FunctionUnderTest) or given_functions.is_given(value)
    }


def answering(functions: Mapping[str, Callable], otherwise: AnswerQuestion | None) -> AnswerQuestion | None:
    """Return what answers questions about these functions. `otherwise` answers all other questions."""
    if not functions:
        return otherwise
    calls = 0  # of tested functions

    def answer(tree: Any, arrays: list[np.ndarray], deadline: float, call_back: CallBack) -> bytes:
        nonlocal calls
        match values.unpack(tree, arrays):
            case {"function": str(name), "args": tuple(args), "kwargs": dict(kwargs)} if name in functions:
                function = functions[name]
                if isinstance(function, FunctionUnderTest):
                    calls += 1
                    return _tested_frame(function, args, kwargs, calls)
                if len(args) == 1:
                    return _frame(function, args[0])
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


def _tested_frame(function: FunctionUnderTest, args: tuple, kwargs: dict[str, Any], calls: int) -> bytes:
    """Return a function's value, or the type of its exception, with the arrays among the arguments that it changed.

    The arguments are untrusted, and the function runs in this process. So their sizes are limited, and the number of
    calls.
    """
    args, kwargs = _with_scalars(args), _with_scalars(kwargs)
    value, raised, changed = None, "", {}
    try:
        if calls > tested.MAX_CALLS:
            raise RuntimeError(tested.TOO_MANY_CALLS)
        tested.refuse_unsuitable((args, kwargs), function.max_axis)
        arrays = tested.arrays_in((args, kwargs))
        before = [array.tobytes() for array in arrays]
        with np.errstate(all="ignore"):
            value = function(*args, **kwargs)
        pairs = enumerate(zip(arrays, before, strict=True))
        changed = {str(i): array for i, (array, content) in pairs if array.tobytes() != content}
    except Exception as error:
        raised = type(error).__name__
    tree, packed = values.pack({"value": value, "raised": raised, "changed": changed})
    return frames.encode({"answer": tree}, packed)


def _with_scalars(value: Any) -> Any:
    """Return arguments with NumPy scalars for arrays without axes, because `values` does not distinguish them."""
    if isinstance(value, dict):
        return {name: _with_scalars(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(map(_with_scalars, value))
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
