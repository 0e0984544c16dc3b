"""Call a function on a case's inputs and keep what happened, whatever happens.

The same call serves `check` in the student's notebook, the sandbox, and the making of keys.
"""

import hashlib
import json
import linecache
import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from check import values


@dataclass(frozen=True)
class Raised:
    """An exception, as far as it may be told: its type's name, its message, and the function's own line.

    place: the file and the number of that line, for whoever has its source. quoted: whether the message may be shown;
    where the inputs are hidden, it could carry them away.
    """

    type: str
    message: str
    line: str = ""
    place: tuple[str, int] = field(default=("", 0), compare=False)
    quoted: bool = True

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
    outcome, left = call(function, inputs)
    return replace(outcome, modified=modified(inputs, left)) if not outcome.raised else outcome


def call(function: Callable, inputs: dict[str, Any]) -> tuple[Outcome, dict[str, str]]:
    """As `run`, and fingerprints of what the function left of its inputs, by name; `modified` reads them."""
    outcome, given = _called(function, inputs)
    return outcome, {} if outcome.raised else fingerprints(given)


def answer(function: Callable, inputs: dict[str, Any]) -> Outcome:
    """As `run`, where nobody asks what was left of the inputs: to tell that takes a third of a short call."""
    return _called(function, inputs)[0]


def _called(function: Callable, inputs: dict[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """The outcome, and the copies of the inputs that the function was given."""
    given = _copy(inputs)
    if isinstance(function, type):
        function = partial(build_and_call, function)
    try:
        with np.errstate(all="ignore"):
            value = function(**given)
    except Exception as error:
        return Outcome(raised=describe(error)), given
    return Outcome(value=_carried(value)), given


def modified(inputs: Mapping[str, Any], left: dict[str, str]) -> tuple[str, ...]:
    """Names of the inputs of which something else was left than was given."""
    return tuple(name for name, given in fingerprints(inputs).items() if left.get(name) != given)


def fingerprints(inputs: Mapping[str, Any]) -> dict[str, str]:
    """Name -> SHA-256 of each input, in hex.

    A random generator is meant to move on, and has none; everything else is the caller's, and stays as it was.
    """
    lent = ((name, value) for name, value in inputs.items() if not isinstance(value, np.random.Generator))
    return {name: _sha256(*values.pack(value)) for name, value in lent}


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
    if not own:
        return Raised(type(error).__name__, str(error)[:500])
    file, number = own[-1].filename, own[-1].lineno or 0
    source = linecache.getline(file, number).strip() or (own[-1].line or "").strip()
    return Raised(type(error).__name__, str(error)[:500], line_told(number, source), (file, number))


def line_told(number: int, source: str) -> str:
    """A line as a message names it."""
    return f"line {number}: {source}" if source else f"line {number}"


def _carried(value: Any) -> Any:
    """The value as it would arrive from the sandbox, so that the judge sees the same at home and in grading."""
    try:
        return values.unpack(*values.pack(value))
    except values.Malformed:
        return values.Foreign("something too large to look at")


def _copy(inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: values.unpack(*values.pack(value)) for name, value in inputs.items()}


def _sha256(tree: values.Tree, arrays: list[np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps((tree, [(array.dtype.str, array.shape) for array in arrays])).encode())
    for array in arrays:
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
