"""Call a function on a case's inputs and keep what happened, whatever happens.

The same call serves `check` in the student's notebook, the sandbox, and the making of keys.
"""

import hashlib
import linecache
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from autograder.check import values


@dataclass(frozen=True)
class Raised:
    """An exception, as far as it may be told: its type's name, its message, and the function's own line."""

    type: str
    message: str
    line: str = ""

    @property
    def mark(self) -> str:
        """A fingerprint of the message, whatever the function that raised is called."""
        return hashlib.sha256(re.sub(r"[\w.<>]+\(\)", "", self.message).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Outcome:
    """What a call came to: a value, or an exception, or (in the sandbox only) the reason it was stopped.

    modified: names of the inputs that the call changed, though it should have left them alone.
    stopped: plain words, "took longer than 5 seconds"; empty if the call came to its own end.
    """

    value: Any = None
    raised: Raised | None = None
    modified: tuple[str, ...] = field(default=())
    stopped: str = ""


def run(function: Callable, inputs: dict[str, Any]) -> Outcome:
    """Call `function(**inputs)` on fresh copies of the inputs.

    Args:
        function: the callable to try; a class is a PyTorch module, asked by `build_and_call`.
        inputs: dict of argument name -> value, as a case holds them; never changed.

    Returns:
        Outcome. Only KeyboardInterrupt and the like pass through.
    """
    given = _copy(inputs)
    if isinstance(function, type):
        function = partial(build_and_call, function)
    try:
        with np.errstate(all="ignore"):
            value = function(**given)
    except Exception as error:
        return Outcome(raised=describe(error))
    # A random generator is meant to move on; everything else is the caller's, and stays as it was.
    lent = [name for name, value in inputs.items() if not isinstance(value, np.random.Generator)]
    modified = tuple(name for name in lent if not _same(values.pack(inputs[name]), values.pack(given[name])))
    return Outcome(value=_carried(value), modified=modified)


def build_and_call(
    module_class: type, arguments: dict[str, Any], weights: dict[str, np.ndarray], inputs: list[np.ndarray | None]
) -> Any:
    """Build a module in float64, load weights by name, and call it in evaluation mode.

    Args:
        module_class: a subclass of torch.nn.Module.
        arguments: dict, keyword arguments of its constructor.
        weights: dict, parameter name -> array, as in its state_dict.
        inputs: list of arrays, or None, the positional arguments of the call.

    Returns:
        The output as an array; if the module returns several, a tuple of arrays.

    Raises:
        RuntimeError: names or shapes of the module's parameters are not those of `weights`.
    """
    import torch  # only these exercises need it, and it takes a second to import

    module = module_class(**arguments).double().eval()
    module.load_state_dict({name: torch.from_numpy(np.array(weight)) for name, weight in weights.items()})
    tensors = [None if array is None else torch.from_numpy(np.array(array)) for array in inputs]
    with torch.no_grad():
        output = module(*tensors)
    return tuple(_array(part) for part in output) if isinstance(output, tuple) else _array(output)


def _array(part: Any) -> Any:
    return part.numpy() if hasattr(part, "numpy") else part


def describe(error: BaseException) -> Raised:
    """An exception as Raised; its line is the innermost one that the student wrote (a notebook cell's)."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith("<cell ") or "ipykernel" in frame.filename]
    line = ""
    if own:
        source = linecache.getline(own[-1].filename, own[-1].lineno or 0).strip() or (own[-1].line or "").strip()
        line = f"line {own[-1].lineno}: {source}" if source else f"line {own[-1].lineno}"
    return Raised(type(error).__name__, str(error)[:500], line)


def _carried(value: Any) -> Any:
    """The value as it would arrive from the sandbox, so that the judge sees the same at home and in grading."""
    try:
        return values.unpack(*values.pack(value))
    except values.Malformed:
        return values.Foreign("something too large to look at")


def _copy(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: values.unpack(*values.pack(value)) for name, value in inputs.items()}


def _same(packed: tuple[Any, list[np.ndarray]], other: tuple[Any, list[np.ndarray]]) -> bool:
    (tree, arrays), (other_tree, other_arrays) = packed, other
    pairs = zip(arrays, other_arrays, strict=False)
    return tree == other_tree and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs
    )
