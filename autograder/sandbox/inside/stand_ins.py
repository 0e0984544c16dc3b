"""Make placeholders in a submission's process for functions that the grader answers. They hold none of their code."""

import builtins
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from check import values
from check.tested import FunctionUnderTest, arrays_in
from check.trees import mapped
from check.values import FUNCTION

from . import frames

# Sends a question to the grader and returns its answer, both as dicts. With a second argument "returned", it sends the
# value of a function of the submission that the grader has called.
Ask = Callable[..., dict[str, Any]]
# Sends a question to the grader and returns the reply, still packed, with its arrays.
Exchange = Callable[[dict[str, Any]], tuple[dict[str, Any], list[np.ndarray]]]

REMEMBERED = 1000  # replies about a function of the book
MAX_BYTES = 8000  # bytes of an array whose reply is remembered; the grader takes no array of more numbers


def stand_in(name: str, ask: Ask) -> Callable:
    """Return a function with this name that gets its values from the grader."""

    def answered(*args: Any, **kwargs: Any) -> Any:
        answer = _answer(ask, name, args, kwargs)
        generators = (value for value in (*args, *kwargs.values()) if isinstance(value, np.random.Generator))
        for generator, advanced in zip(generators, answer["generators"], strict=True):
            generator.bit_generator.state = advanced.bit_generator.state
        return _with_scalars(answer["value"])

    answered.__name__ = answered.__qualname__ = name
    return answered


class SubmittedFunction:
    """Stands for a function of the submission."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def values_at(self, places: list[np.ndarray]) -> list[Any]:
        """Return the function's values. If the function raises an exception, there are fewer values than places."""
        return _with_scalars(self._ask({"places": places})["values"])


def input_function(name: str, ask: Ask) -> Callable:
    """Return a function of one array, for an input of this name that is a function."""

    def answered(x: np.ndarray) -> Any:
        answer = ask({"function": name, "args": (x,), "kwargs": {}})
        if answer["raised"]:
            raise _exception_type(answer["raised"])(f"raised by `{name}`")
        return _with_scalars(answer["value"])

    return answered


def remembering(exchange: Exchange) -> Ask:
    """Return a function that asks the grader for values of a function of the book, only once for the same array.

    The grader also sends the values at the arrays that it expects next.
    """
    known: dict[tuple[str, tuple[int, ...], bytes], tuple[np.ndarray, str]] = {}

    def remember(x: np.ndarray, value: np.ndarray, raised: str = "") -> None:
        if x.nbytes <= MAX_BYTES and len(known) < REMEMBERED:
            known[array_key(x)] = value, raised

    def ask(question: dict[str, Any]) -> dict[str, Any]:
        (x,) = question["args"]
        if remembered := known.get(array_key(x)):
            value, raised = remembered
            return {"value": np.copy(value), "raised": raised}
        reply, arrays = exchange(question)
        answer = values.unpack(reply["answer"], arrays)
        if not answer["raised"]:
            for pair in zip(answer["points"], answer["values"], strict=True):
                remember(*pair)
        remember(x, answer["value"], answer["raised"])
        return answer | {"value": np.copy(answer["value"])}

    return ask


def array_key(x: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    """Return a key that two arrays share exactly if they are equal, bit by bit."""
    return x.dtype.char, x.shape, x.tobytes()


def tested_function(name: str, exercise: str, exchange: Exchange, points: dict[bytes, int]) -> FunctionUnderTest:
    """Return a function for an input of that name, on which a student's test is tried.

    exercise: the exercise that the function answers. points: digest of arguments -> the number that the grader gave
        them, for all functions of this exercise so far.
    """
    ahead: dict[int, tuple[values.Tree, list[np.ndarray]]] = {}  # answers that arrived before the call

    def answered(*args: Any, **kwargs: Any) -> Any:
        digest = _digest((args, kwargs))
        number = points.get(digest)
        if number is None:
            reply, arrays = exchange({"function": name, "args": args, "kwargs": kwargs})
            answer = values.unpack(reply["answer"], arrays)
            if answer["point"] is not None:
                points[digest] = answer["point"]
        elif packed := ahead.pop(number, None):
            answer = values.unpack(*packed)
        else:
            reply, arrays = exchange({"function": name, "point": number})
            answer = values.unpack(reply["answer"], arrays)
            ahead.update((i, (tree, arrays)) for i, tree in enumerate(reply["ahead"], number + 1))
        if answer["raised"]:
            raise _exception_type(answer["raised"])("raised by the function that your test is tried on")
        arrays = arrays_in((args, kwargs))
        for index, changed in answer["changed"].items():
            arrays[int(index)][...] = changed
        return _with_scalars(answer["value"])

    return FunctionUnderTest(exercise, answered)


def _digest(value: Any) -> bytes:
    """Return the SHA-256 of a value as it is sent. Values that the grader cannot distinguish have the same one."""
    tree, arrays = values.pack(value)
    return hashlib.sha256(frames.encode({"value": tree}, arrays)).digest()


def stand_in_module(name: str, ask: Ask) -> type:
    """Return a PyTorch module with this name. It has parameters of its own, and the grader computes its output."""
    import torch

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        torch.nn.Module.__init__(self)
        self.arguments = args, kwargs
        parameters = _answer(ask, name, (self.arguments, None, None), {})["value"]
        for path, array in parameters.items():
            *parents, last = path.split(".")
            owner = self
            for part in parents:
                if part not in owner._modules:
                    owner.add_module(part, torch.nn.Module())
                owner = owner._modules[part]
            tensor = torch.tensor(array, dtype=torch.get_default_dtype())
            owner.register_parameter(last, torch.nn.Parameter(tensor))

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        weights = {path: _array(tensor.double()) for path, tensor in self.state_dict().items()}
        inputs = tuple(map(_array, args)), {word: _array(value) for word, value in kwargs.items()}
        value = _answer(ask, name, (self.arguments, weights, inputs), {})["value"]
        return tuple(map(torch.from_numpy, value)) if isinstance(value, tuple) else torch.from_numpy(value)

    return type(name, (torch.nn.Module,), {"__init__": __init__, "forward": forward})


def _answer(ask: Ask, name: str, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the grader's answer. If the reference raised an exception, raise one of the same type without its message.

    The grader may call the function among the arguments, which takes one array, for several arrays at once.
    """
    functions = [value for value in (*args, *kwargs.values()) if callable(value)]
    args = tuple(FUNCTION if callable(value) else value for value in args)
    kwargs = {word: FUNCTION if callable(value) else value for word, value in kwargs.items()}
    answer = ask({"function": name, "args": args, "kwargs": kwargs})
    own_error = None
    while "places" in answer:
        returned: list[Any] = []
        try:
            for place in answer["places"]:
                returned.append(functions[0](_with_scalars(place)))
        except Exception as error:
            own_error = error
        answer = ask({"values": returned}, "returned")
    if answer["raised"] and own_error:
        raise own_error
    if answer["raised"]:
        raise _exception_type(answer["raised"])(f"raised by the grader's `{name}`, which was called instead of yours")
    return answer


def _array(value: Any) -> Any:
    return value.detach().numpy() if hasattr(value, "detach") else value


def _exception_type(name: str) -> type[Exception]:
    """Return the built-in exception with this name, or RuntimeError for any other name."""
    builtin = getattr(builtins, name, None)
    return builtin if isinstance(builtin, type) and issubclass(builtin, Exception) else RuntimeError


def _with_scalars(value: Any) -> Any:
    """Return the value with NumPy scalars, which NumPy's functions return, instead of arrays without axes."""
    return mapped(lambda part: part[()] if isinstance(part, np.ndarray) and part.ndim == 0 else part, value)
