"""Turn a reply of the sandboxed process into an Outcome, without trusting the reply."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.sandbox.limits import Limits
from check import values
from check.calling import Outcome, Raised, line_reference, modified

NOT_AN_ANSWER = "sent something that is not an answer"


def read_outcome(
    message: dict[str, Any],
    arrays: list[np.ndarray],
    *,
    inputs: Mapping[str, Any],
    sources: Mapping[str, str],
    seconds: float,
    limits: Limits,
) -> Outcome:
    """Return the Outcome that a reply describes. The reply to a cell has no value.

    Args:
        message, arrays: as `frames.decode` returned them.
        inputs: the inputs of the call, as they were sent. Comparing their digests with those of the reply shows
            which inputs the call changed.
        sources: cell id -> source, to find the line that raised an exception.
        seconds: the limit of processor time, for the message if the code exceeds it.

    Raises:
        values.Malformed: `child.py` cannot have sent this reply.
    """
    if message.keys() != {"tree", "raised", "digests", "stopped"}:
        raise values.Malformed("a reply whose fields are not those of a reply")
    tree, raised, digests, stopped = (message[part] for part in ("tree", "raised", "digests", "stopped"))
    if type(digests) is not dict:
        raise values.Malformed("digests of inputs that are not a dict")
    if stopped != "":
        return Outcome(stopped=_stop_reason(stopped, seconds, limits))
    if raised is not None:
        return Outcome(raised=_exception(raised, sources))
    if tree is None:
        return Outcome()
    if _array_indices(tree) != list(range(len(arrays))):
        raise values.Malformed("arrays that the tree does not use exactly once")
    return Outcome(value=values.unpack(tree, arrays), modified=modified(inputs, digests))


def _stop_reason(code: object, seconds: float, limits: Limits) -> str:
    match code:
        case "time":
            return used_processor(seconds)
        case "memory":
            return used_memory(limits)
        case "size":
            return "returned more data than the grader accepts"
    raise values.Malformed("an unknown reason for stopping")


def used_processor(seconds: float) -> str:
    """Return the words for a call or a cell that exceeded its limit of processor time."""
    return f"used more than {_seconds(seconds)} of processor time"


def kept_grader_busy(seconds: float) -> str:
    """Return the words for a call that asked the grader for more work than the limit."""
    return f"asked the grader for values that take it more than {_seconds(seconds)} to compute"


def waited_longer(seconds: float) -> str:
    """Return the words for a call or a cell that the wall clock stopped before it had used its processor time."""
    return f"waited longer than {_seconds(seconds)}"


def used_memory(limits: Limits) -> str:
    """Return the words for a call or a cell that asked for more memory than the limit."""
    return f"used more than {limits.memory_mb} MB of memory"


def _seconds(seconds: float) -> str:
    return f"{seconds:g} second{'' if seconds == 1 else 's'}"


def _exception(parts: Any, sources: Mapping[str, str]) -> Raised:
    """Return the exception that [type name, message, file, line number] describes."""
    if type(parts) is not list or list(map(type, parts)) != [str, str, str, int]:
        raise values.Malformed("an exception whose parts are not those of an exception")
    type_name, text, file, number = parts
    lines = sources.get(file.removeprefix("<cell ").removesuffix(">"), "").splitlines()
    line = line_reference(number, lines[number - 1].strip()) if 1 <= number <= len(lines) else ""
    return Raised(_printable(type_name)[:100], _printable(text)[:500], _printable(line)[:500])


def _printable(text: str) -> str:
    """Return the text without control codes, which a terminal would obey when it shows a report."""
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)


def _array_indices(tree: object) -> list[object]:
    """Return the array indices in a tree, in order.

    A tree may use each array only once, because an array that occurs a thousand times would be copied a thousand times.
    """
    indices: list[object] = []
    pending: list[object] = [tree]
    while pending:
        node = pending.pop()
        if type(node) is not dict:
            continue
        if node.get("kind") == "array":
            indices.append(node.get("index"))
        items = node.get("items")
        if type(items) is dict:
            items = list(items.values())
        if type(items) is list:
            pending += reversed(items)
    return indices
