"""Answer an exercise in a sandbox of its own: call the reference with the arguments that a submission sends.

This file is sent as the source of a cell and never imported outside. Lines that fill `KNOWN` are added below it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from check.values import FUNCTION, Foreign

KNOWN: dict[str, Callable] = {}


def answer(
    function: str, args: tuple, kwargs: dict[str, Any], submitted: Callable
) -> tuple[Any, list[np.random.Generator]]:
    """Return a function's value, and the random generators among its arguments, which the call has advanced.

    submitted: calls the function that the submission has among the arguments.
    """
    known = KNOWN[function]
    args = tuple(submitted if _is_function(value) else value for value in args)
    kwargs = {name: submitted if _is_function(value) else value for name, value in kwargs.items()}
    value = _module_answer(known, *args) if isinstance(known, type) else known(*args, **kwargs)
    arguments = (*args, *kwargs.values())
    return value, [argument for argument in arguments if isinstance(argument, np.random.Generator)]


def _is_function(value: Any) -> bool:
    return isinstance(value, Foreign) and value == FUNCTION


def _module_answer(
    module_class: Any,
    arguments: tuple[tuple, dict[str, Any]],
    weights: dict[str, np.ndarray] | None,
    inputs: tuple[tuple, dict[str, Any]],
) -> Any:
    """Return the output of a PyTorch module with these weights; without weights, its initial parameters by name.

    arguments, inputs: positional and keyword arguments of its constructor, and of its call.
    """
    import torch

    module = module_class(*arguments[0], **arguments[1]).double().eval()
    if weights is None:
        return {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    module.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
    with torch.no_grad():
        output = module(*map(_tensor, inputs[0]), **{name: _tensor(value) for name, value in inputs[1].items()})
    return tuple(map(np.asarray, output)) if isinstance(output, tuple) else np.asarray(output)


def _tensor(value: Any) -> Any:
    import torch

    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value
