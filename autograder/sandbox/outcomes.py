"""What the sandboxed process sends back, read by the side that trusts none of it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograder.sandbox.limits import Limits
from check import values
from check.calling import Outcome, Raised, line_reference, modified

NOT_AN_ANSWER = "sent something that is not an answer"


def outcome(
    message: dict[str, Any],
    arrays: list[np.ndarray],
    *,
    inputs: Mapping[str, Any],
    sources: Mapping[str, str],
    seconds: float,
    limits: Limits,
) -> Outcome:
    """A reply to a call, or to a cell (which has no value), as an Outcome.

    Args:
        message, arrays: as `frames.decode` gave them.
        inputs: the call's, as they were sent; what the reply says is left of them is held against these.
        sources: id -> source of each cell, where the line that raised is looked up.
        seconds: the time limit, to be told when it was overrun.

    Raises:
        values.Malformed: the reply is not one that `child.py` can have sent.
    """
    if message.keys() != {"tree", "raised", "left", "stopped"}:
        raise values.Malformed("a reply without its parts")
    tree, raised, left, stopped = (message[part] for part in ("tree", "raised", "left", "stopped"))
    if type(left) is not dict:
        raise values.Malformed("nothing that can be left of inputs")
    if stopped != "":
        return Outcome(stopped=_stopped(stopped, seconds, limits))
    if raised is not None:
        return Outcome(raised=_raised(raised, sources))
    if tree is None:
        return Outcome()
    if _arrays_named(tree) != list(range(len(arrays))):
        raise values.Malformed("arrays that are not each used once")
    return Outcome(value=values.unpack(tree, arrays), modified=modified(inputs, left))


def _stopped(reason, seconds, limits):
    match reason:
        case "time":
            return took_longer(seconds)
        case "memory":
            return used_too_much(limits)
        case "size":
            return "returned more than can be looked at"
    raise values.Malformed("stopped for no known reason")


def took_longer(seconds: float) -> str:
    """The words for a call or a cell that overran its time."""
    return f"took longer than {seconds:g} second{'' if seconds == 1 else 's'}"


def used_too_much(limits: Limits) -> str:
    """The words for a call or a cell that asked for more memory than there is for it."""
    return f"used more than {limits.memory_mb} MB of memory"


def _raised(parts, sources):
    if type(parts) is not list or list(map(type, parts)) != [str, str, str, int]:
        raise values.Malformed("an exception without its parts")
    name, text, file, number = parts
    lines = sources.get(file.removeprefix("<cell ").removesuffix(">"), "").splitlines()
    line = line_reference(number, lines[number - 1].strip()) if 1 <= number <= len(lines) else ""
    return Raised(_printable(name)[:100], _printable(text)[:500], _printable(line)[:500])


def _printable(text):
    """Without the codes that a terminal obeys: reports are printed there, too."""
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)


def _arrays_named(tree):
    """The array indices of a tree, in order. One array named a thousand times would be copied as often."""
    named, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if type(node) is not dict:
            continue
        if node.get("kind") == "array":
            named.append(node.get("index"))
        items = node.get("items")
        if type(items) is dict:
            items = list(items.values())
        if type(items) is list:
            waiting += reversed(items)
    return named
