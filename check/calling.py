"""Call a function on a case's inputs and record what happened, even if it raises.

`check` in the student's notebook, the sandbox, and the making of keys all call functions in this way.
"""

import builtins
import hashlib
import json
import linecache
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from check import given_functions, tested, values
from check.words import did_you_mean


@dataclass(frozen=True)
class Raised:
    """The parts of an exception that are safe to show: the name of its type, its message, and the function's line.

    place: the file and the number of that line, for callers who have its source. quoted: whether the message may be
    shown; a message could reveal hidden inputs.
    """

    type: str
    message: str
    line: str = ""
    place: tuple[str, int] = field(default=("", 0), compare=False)
    quoted: bool = True

    @property
    def mark(self) -> str:
        """A fingerprint of the message, independent of the name of the function that raised."""
        return hashlib.sha256(re.sub(r"[\w.<>]+\(\)", "", self.message).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: a value, or an exception, or (in the sandbox only) the reason why it was stopped.

    modified: names of the inputs that the call changed in place.
    stopped: "used more than 5 seconds of processor time", say; empty if the call ended by itself.
    quoted: whether a sentence may quote from the value, such as its keys; they could reveal hidden inputs.
    """

    value: Any = None
    raised: Raised | None = None
    modified: tuple[str, ...] = field(default=())
    stopped: str = ""
    quoted: bool = field(default=True, compare=False)


def run(function: Callable, inputs: dict[str, Any]) -> Outcome:
    """Call `function(**inputs)` on fresh copies of the inputs.

    Args:
        function: the callable to try; a class is a PyTorch module, for `build_and_call`.
        inputs: dict of argument name -> value, as a case holds them; never changed.

    Returns:
        Outcome. KeyboardInterrupt passes through, and with it every exception that is neither an Exception nor
        SystemExit.
    """
    outcome, copies = _call_on_copies(function, inputs)
    if outcome.raised:
        return outcome
    changed = (name for name, value in _comparable(inputs).items() if not _same_content(value, copies[name]))
    return replace(outcome, modified=tuple(changed))


def call(function: Callable, inputs: dict[str, Any]) -> tuple[Outcome, dict[str, str]]:
    """Like `run`, but call the function on the inputs themselves, and return their fingerprints afterwards, by name.

    The sandbox sends the fingerprints to the grader in place of the inputs, for `modified` to compare.
    """
    inputs = {name: _disguised(value) if callable(value) else value for name, value in inputs.items()}
    outcome = _call(function, inputs)
    return outcome, {} if outcome.raised else fingerprints(inputs)


def value_of(function: Callable, inputs: dict[str, Any]) -> Outcome:
    """Like `run`, but keep only the type of an exception and the value itself, and do not look for changed inputs.

    All of this would take long.
    """
    copies = _copy(inputs)
    try:
        value = _returned(function, copies)
    except (Exception, SystemExit) as error:
        return Outcome(raised=Raised(type(error).__name__, ""))
    return Outcome(value=value)


def _call_on_copies(function: Callable, inputs: dict[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """Return the outcome, and the copies of the inputs that the function received."""
    copies = _copy(inputs)
    return _call(function, copies), copies


def _call(function: Callable, inputs: dict[str, Any]) -> Outcome:
    try:
        value = _returned(function, inputs)
    except (Exception, SystemExit) as error:
        return Outcome(raised=describe(error))
    return Outcome(value=_as_from_sandbox(value))


def _returned(function: Callable, inputs: dict[str, Any]) -> Any:
    """Return what a function returns, or a test's verdict. Raises what the function raises."""
    if isinstance(function, type):
        function = partial(build_and_call, function)
    with np.errstate(all="ignore"):
        return tested.verdict(function, inputs) if tested.tested_names(inputs) else function(**inputs)


def modified(inputs: Mapping[str, Any], after: dict[str, str]) -> tuple[str, ...]:
    """Return the names of the inputs whose fingerprints differ after the call."""
    return tuple(name for name, before in fingerprints(inputs).items() if after.get(name) != before)


def fingerprints(inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of each comparable input in hex, by name."""
    return {name: _sha256(*values.pack(value)) for name, value in _comparable(inputs).items()}


def _comparable(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs without random generators, which every draw changes, and without functions."""
    return {
        name: value for name, value in inputs.items() if not (isinstance(value, np.random.Generator) or callable(value))
    }


def _same_content(one: Any, other: Any) -> bool:
    """Return whether two inputs have the same fingerprint."""
    if type(one) is type(other) is np.ndarray:
        return _content(one) == _content(other)
    if type(one) is type(other) is dict:
        return list(one) == list(other) and all(map(_same_content, one.values(), other.values()))
    if type(one) is type(other) is list:
        return len(one) == len(other) and all(map(_same_content, one, other))
    (tree, arrays), (other_tree, other_arrays) = values.pack(one), values.pack(other)
    return tree == other_tree and [*map(_content, arrays)] == [*map(_content, other_arrays)]


def _content(array: np.ndarray) -> tuple[np.dtype, tuple[int, ...], bytes]:
    return array.dtype, array.shape, array.tobytes()


def build_and_call(
    module_class: type,
    arguments: dict[str, Any],
    weights: dict[str, np.ndarray],
    inputs: list[np.ndarray | None],
    training: bool = False,
) -> Any:
    """Build a module in float64, load weights by name, and call it.

    Args:
        module_class: a subclass of torch.nn.Module.
        arguments: dict, keyword arguments of its constructor.
        weights: dict, parameter name -> array, as in its state_dict.
        inputs: list of arrays, or None, the positional arguments of the call.
        training: whether the module is in training mode, and not in evaluation mode.

    Returns:
        The output as an array; if the module returns several, a tuple of arrays.

    Raises:
        RuntimeError: names or shapes of the module's parameters are not those of `weights`.
    """
    import torch  # it takes a second to import, and only these exercises need it

    module = module_class(**arguments).double().train(training)
    module.load_state_dict({name: torch.from_numpy(np.array(weight)) for name, weight in weights.items()})
    tensors = [None if array is None else torch.from_numpy(np.array(array)) for array in inputs]
    with torch.no_grad():
        output = module(*tensors)
    return tuple(_array(part) for part in output) if isinstance(output, tuple) else _array(output)


def _array(part: Any) -> Any:
    return part.numpy() if hasattr(part, "numpy") else part


def describe(error: BaseException) -> Raised:
    """Return an exception as Raised; its line is the innermost one in a cell of the student's notebook."""
    frames = traceback.extract_tb(error.__traceback__)
    in_cells = [frame for frame in frames if frame.filename.startswith("<cell ") or "ipykernel" in frame.filename]
    message = str(error)[:500] + suggestion(error)
    if not in_cells:
        return Raised(type(error).__name__, message)
    file, number = in_cells[-1].filename, in_cells[-1].lineno or 0
    source = linecache.getline(file, number).strip() or (in_cells[-1].line or "").strip()
    return Raised(type(error).__name__, message, line_reference(number, source), (file, number))


def suggestion(error: BaseException) -> str:
    """Return "; did you mean `softmax`?" if an unknown name or attribute is close to a known one; otherwise ""."""
    if not isinstance(error, NameError | AttributeError) or type(error.name) is not str:
        return ""
    try:
        return did_you_mean(error.name, _known_names(error))
    except Exception:  # the student's class decides what `dir` does
        return ""


def _known_names(error: NameError | AttributeError) -> Iterable[str]:
    """Return the names that the innermost frame of an exception knows, or the attributes of its object."""
    if isinstance(error, AttributeError):
        return dir(error.obj)
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return [*frame.f_locals, *frame.f_globals, *dir(builtins)]


def line_reference(number: int, source: str) -> str:
    """Return how a message names a line: its number, and its source if that is known."""
    return f"line {number}: {source}" if source else f"line {number}"


def _as_from_sandbox(value: Any) -> Any:
    """Return the value as it would arrive from the sandbox, so that home and grading judge the same thing."""
    try:
        return values.unpack(*values.pack(value))
    except values.Malformed:
        return values.Foreign("value too large to look at")


def _copy(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return copies of the inputs; functions among them show nothing but their values."""
    return {name: _copy_of(value) for name, value in inputs.items()}


def _copy_of(value: Any) -> Any:
    return _disguised(value) if callable(value) else _copied(value)


def _copied(value: Any) -> Any:
    """Return a copy of an input. Packing all of it, as the sandbox must, often takes longer than the call."""
    kind = type(value)
    if kind is np.ndarray and value.dtype in values.NATIVE:
        return np.array(value, order="C")
    if kind is dict:
        return {name: _copied(part) for name, part in value.items()}
    if kind in (list, tuple):
        return kind(map(_copied, value))
    return values.unpack(*values.pack(value))


def _disguised(function: Callable) -> Callable:
    is_hidden_later = isinstance(function, tested.FunctionUnderTest)  # by `tested.verdict`
    return function if is_hidden_later else given_functions.disguised(function)


def _sha256(tree: values.Tree, arrays: list[np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps((tree, [(array.dtype.str, array.shape) for array in arrays])).encode())
    for array in arrays:
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
