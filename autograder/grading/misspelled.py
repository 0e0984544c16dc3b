"""Suggest the right spelling of a name, without reading the exception's message, which student code chooses.

A suggestion depends only on the exception's type, its line and the submitted source, which feedback shows anyway. So
a suggestion reveals nothing about hidden inputs, even if the code builds names from them while it runs.
"""

import builtins
import keyword
import math
import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from autograder.grading.namespace import names_in
from autograder.sandbox import Cell
from check.calling import Raised
from check.words import did_you_mean

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_ATTRIBUTE = re.compile(r"([\w\])])\.([A-Za-z_]\w*)")
_MATH = re.compile(r"(?<![\w.])math\.([A-Za-z_]\w*)")
_NUMPY = re.compile(r"(?<![\w.])(?:np|numpy)\.([A-Za-z_]\w*)")
# Comparing more or longer names would take the grader too long.
MAX_UNKNOWN = 3  # unknown names in a line
MAX_KNOWN = 1000  # names that a submission defines
MAX_LENGTH = 40  # letters of a name


def defined_names(cells: Iterable[Cell]) -> frozenset[str]:
    """Return the names that cells define anywhere: functions, classes, parameters, variables and imports."""
    return frozenset().union(*(names_in(cell.source).defined for cell in cells))


def suggestion(raised: Raised, names: frozenset[str]) -> str:
    """Return "; did you mean `softmax`?" if the line of an exception has one misspelled name, or else "".

    names: the names that the submission defines.
    """
    return _suggestion(raised.type, raised.line.partition(": ")[2], names) if len(names) <= MAX_KNOWN else ""


@lru_cache(maxsize=64)  # a function often raises an exception in the same line in all cases
def _suggestion(kind: str, source: str, names: frozenset[str]) -> str:
    if kind == "NameError":
        known = names | set(dir(builtins)) | set(keyword.kwlist)
        unknown = set(_NAME.findall(source)) - known
        return _only((name, names | set(dir(builtins))) for name in unknown)
    if kind == "AttributeError":
        in_math = set(_MATH.findall(source)) - set(dir(math))
        in_numpy = set(_NUMPY.findall(source)) - set(dir(np))
        of_arrays = {name for _, name in _ATTRIBUTE.findall(_NUMPY.sub("", _MATH.sub("", source)))} - set(
            dir(np.ndarray)
        )
        return _only(
            [
                *((name, dir(math)) for name in in_math),
                *((name, dir(np)) for name in in_numpy),
                *((name, dir(np.ndarray)) for name in of_arrays),
            ]
        )
    return ""


def _only(unknown: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Return the suggestion for some unknown names if there is exactly one, or else "".

    unknown: each unknown name with the known names that the student may have meant.
    """
    short = [(name, known) for name, known in unknown if len(name) <= MAX_LENGTH]
    if len(short) > MAX_UNKNOWN:
        return ""
    suggestions = (did_you_mean(name, [k for k in known if len(k) <= MAX_LENGTH]) for name, known in short)
    made = [words for words in suggestions if words]
    return made[0] if len(made) == 1 else ""
