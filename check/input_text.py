"""Write the inputs of a case as text: small ones in full, models by the names and shapes of their arrays."""

import re
from typing import Any

import numpy as np

from check.trees import arrays_by_path

MOST_LINES = 25
MOST_LINES_OF_A_TREE = 10
# A repr depends on the machine in two ways: with native integers of 32 bits, as in a browser, NumPy names the dtype of
# 64-bit integers, and memory addresses change with every run.
_MACHINE_DEPENDENT = re.compile(r"(?<=\])(?<!\[\]),\s+dtype=int64(?=\))|(?<=Generator\(PCG64\)) at 0x[0-9A-Fa-f]+")


def as_text(inputs: dict[str, Any], message: str) -> str:
    """Return the inputs as a text of at most MOST_LINES lines, unless there are very many inputs.

    The longest inputs are shortened first, to names and shapes. message: about the case; a small array of a model stays
    in full if the message names its key.
    """
    texts = {name: f"{name} = {_in_full(value)}" for name, value in inputs.items()}
    for name in sorted(inputs, key=lambda name: -_lines(texts[name])):
        if sum(map(_lines, texts.values())) > MOST_LINES:
            texts[name] = f"{name} = {_shortened(inputs[name], message)}"
    return "\n".join(texts.values())


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _in_full(value: Any) -> str:
    with np.printoptions(precision=4, threshold=60, edgeitems=2, suppress=True):
        return _MACHINE_DEPENDENT.sub("", getattr(value, "__name__", repr(value)))


def _shortened(value: Any, message: str) -> str:
    """The shape of an array, or the first arrays of a tree with their shapes."""
    arrays = list(arrays_by_path(value))
    if len(arrays) < 2:
        return ", ".join(_shape(array) for _, array in arrays) or f"{_in_full(value)[:200]} ..."
    lines = [f"{path}: {_shape(array)}" for path, array in arrays[:MOST_LINES_OF_A_TREE]]
    if len(arrays) > len(lines):
        lines.append(f"... and {len(arrays) - len(lines)} more arrays")
    named = (f"{path} = {_in_full(array)}" for path, array in arrays if path[path.rfind("[") :] in message)
    lines += [text for text in named if _lines(text) <= MOST_LINES_OF_A_TREE // 2][:1]
    return f"{len(arrays)} arrays:\n" + "\n".join(lines)


def _shape(array: np.ndarray) -> str:
    return f"{array.dtype} array of shape {array.shape}"
