"""Call a function on a case's inputs and record what happened, even if it raises.

`check` in the student's notebook, the sandbox and the key generator all call functions this way.
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

from check import input_functions, tested, values
from check.operands import Places, definition_of, places_of
from check.torch_words import TORCH_NAMES
from check.words import did_you_mean


@dataclass(frozen=True)
class Raised:
    """The parts of an exception that are safe to show: the name of its type, its message, and the function's line.

    place: file and number of that line, for callers that have its source. quoted: False if the message must not be
    shown, because it could reveal hidden inputs. places: at home, the values in the expressions that raised.
    """

    type: str
    message: str
    line: str = ""
    place: tuple[str, int] = field(default=("", 0), compare=False)
    quoted: bool = True
    places: Places = field(default=(), compare=False)

    @property
    def mark(self) -> str:
        """A digest of the message, independent of the name of the function that raised and of Python's version."""
        message = re.sub(r"[\w.<>]+\(\)", "", self.message)
        message = message.replace("arg is an empty sequence", "iterable argument is empty")  # until Python 3.11
        return hashlib.sha256(message.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: a value, or an exception, or (in the sandbox only) the reason why it was stopped.

    modified: names of the inputs that the call changed in place.
    stopped: for example "used more than 5 seconds of processor time"; empty if the call ended by itself.
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
        function: the callable to try; for a class, a PyTorch module, see `build_and_call`.
        inputs: dict of argument name -> value, as a case holds them; never changed.

    Returns:
        Outcome. Exceptions that are neither Exception nor SystemExit, such as KeyboardInterrupt, pass through.
    """
    outcome, copies = _call_on_copies(function, inputs)
    if outcome.raised:
        return outcome
    changed = (name for name, value in _comparable(inputs).items() if not _same_content(value, copies[name]))
    return replace(outcome, modified=tuple(changed))


def call(function: Callable, inputs: dict[str, Any]) -> tuple[Outcome, dict[str, str]]:
    """Like `run`, but without copies of the inputs; also return their digests after the call, by name.

    The sandbox sends these to the grader instead of the inputs, and `modified` compares them.
    """
    inputs = {name: _disguised(value) if callable(value) else value for name, value in inputs.items()}
    outcome = _call(function, inputs)
    return outcome, {} if outcome.raised else input_digests(inputs)


def value_of(function: Callable, inputs: dict[str, Any]) -> Outcome:
    """Like `run`, but faster: keep only an exception's type, do not convert the value or look for changed inputs."""
    copies = _copy(inputs)
    try:
        value = _returned(function, copies)
    except (Exception, SystemExit) as error:
        return Outcome(raised=Raised(type(error).__name__, ""))
    return Outcome(value=value)


def _call_on_copies(function: Callable, inputs: dict[str, Any]) -> tuple[Outcome, dict[str, Any]]:
    """The outcome, and the copies of the inputs that the function received."""
    copies = _copy(inputs)
    return _call(function, copies), copies


def _call(function: Callable, inputs: dict[str, Any]) -> Outcome:
    try:
        value = _returned(function, inputs)
    except (Exception, SystemExit) as error:
        return Outcome(raised=describe(error, function))
    return Outcome(value=_as_from_sandbox(value))


def _returned(function: Callable, inputs: dict[str, Any]) -> Any:
    """What a function returns, or a test's verdict. Raises what the function raises."""
    if isinstance(function, type):
        function = partial(build_and_call, function)
    with np.errstate(all="ignore"):
        return tested.verdict(function, inputs) if tested.tested_names(inputs) else function(**inputs)


def modified(inputs: Mapping[str, Any], after: dict[str, str]) -> tuple[str, ...]:
    """Return the names of the inputs whose digests differ after the call."""
    return tuple(name for name, before in input_digests(inputs).items() if after.get(name) != before)


def input_digests(inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return the SHA-256 of each comparable input in hex, by name."""
    return {name: _sha256(*values.pack(value)) for name, value in _comparable(inputs).items()}


def _comparable(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs without random generators, which every draw changes, and without functions."""
    return {
        name: value for name, value in inputs.items() if not (isinstance(value, np.random.Generator) or callable(value))
    }


def _same_content(one: Any, other: Any) -> bool:
    """Whether two inputs have the same digest."""
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
        training: True for training mode, False for evaluation mode.

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


_CALLERS = ("check.calling", "check.tested")  # an exception that ends there means that the call itself failed


def describe(error: BaseException, function: Callable | None = None) -> Raised:
    """Describe an exception by its innermost line in a cell of the student's notebook.

    function: the answer, if it was called.
    The message of a stub's exception is the name of the stub, or of its class.
    """
    message = str(error)[:500] + suggestion(error)
    step, in_cell, last_module = error.__traceback__, None, None
    while step:
        last_module = step.tb_frame.f_globals.get("__name__")
        in_cell = step if _is_cell(step.tb_frame.f_code.co_filename) else in_cell
        step = step.tb_next
    if not in_cell:
        definition = definition_of(function) if last_module in _CALLERS else ()
        return Raised(type(error).__name__, message, places=definition)
    if not message and isinstance(error, NotImplementedError):
        message = in_cell.tb_frame.f_code.co_qualname.split(".")[0]
    file, number = in_cell.tb_frame.f_code.co_filename, in_cell.tb_lineno
    line = line_reference(number, linecache.getline(file, number).strip())
    return Raised(type(error).__name__, message, line, (file, number), places=places_of(in_cell))


def _is_cell(file: str) -> bool:
    return file.startswith("<cell ") or "ipykernel" in file


def suggestion(error: BaseException) -> str:
    """Return "; did you mean `softmax`?" if an unknown name or attribute is close to a known one; otherwise ""."""
    if not isinstance(error, NameError | AttributeError) or type(error.name) is not str:
        return ""
    if isinstance(error, AttributeError) and error.name in TORCH_NAMES:  # `squeeze` is not what `unsqueeze` means
        return ""
    try:
        return did_you_mean(error.name, _known_names(error))
    except Exception:  # the student's class decides what `dir` does
        return ""


def _known_names(error: NameError | AttributeError) -> Iterable[str]:
    """The names that the innermost frame of an exception knows, or the attributes of its object."""
    if isinstance(error, AttributeError):
        return dir(error.obj)
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return [*frame.f_locals, *frame.f_globals, *dir(builtins)]


def line_reference(number: int, source: str) -> str:
    """How messages refer to a line: by its number, and by its source if that is known."""
    return f"line {number}: {source}" if source else f"line {number}"


def _as_from_sandbox(value: Any) -> Any:
    """The value as it would arrive from the sandbox, so that home and grading judge the same thing."""
    try:
        return values.unpack(*values.pack(value))
    except values.Malformed:
        return values.Foreign("value too large to look at")


def _copy(inputs: dict[str, Any]) -> dict[str, Any]:
    """Copies of the inputs; functions among them show nothing but their values."""
    return {name: _copy_of(value) for name, value in inputs.items()}


def _copy_of(value: Any) -> Any:
    return _disguised(value) if callable(value) else _copied(value)


def _copied(value: Any) -> Any:
    """Copy an input, without packing it where possible, because packing often takes longer than the call."""
    kind = type(value)
    if kind is np.ndarray and value.dtype in values.NATIVE:
        return np.array(value, order="C")
    if kind is dict:
        return {name: _copied(part) for name, part in value.items()}
    if kind in (list, tuple):
        return kind(map(_copied, value))
    return values.unpack(*values.pack(value))


def _disguised(function: Callable) -> Callable:
    is_hidden_later = isinstance(function, tested.FunctionUnderTest)  # `tested.verdict` hides it
    return function if is_hidden_later else input_functions.disguised(function)


def _sha256(tree: values.Tree, arrays: list[np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps((tree, [(array.dtype.str, array.shape) for array in arrays])).encode())
    for array in arrays:
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
