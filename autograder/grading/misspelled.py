"""Suggest a name for a misspelled one, without the exception's message, which student code chooses.

A suggestion depends on the exception's type, its line and the submitted source, which feedback shows anyway. So it
reveals nothing about hidden inputs, whatever names the code makes from them while it runs.
"""

import ast
import builtins
import keyword
import math
import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from autograder.authoring.syntax_tree import parsed
from autograder.sandbox import Cell
from check.calling import Raised
from check.words import did_you_mean

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_ATTRIBUTE = re.compile(r"([\w\])])\.([A-Za-z_]\w*)")
_MATH = re.compile(r"(?<![\w.])math\.([A-Za-z_]\w*)")
_NUMPY = re.compile(r"(?<![\w.])(?:np|numpy)\.([A-Za-z_]\w*)")
# Comparing more or longer names would keep the grader busy, so they get no suggestion.
MAX_UNKNOWN = 3  # in a line
MAX_KNOWN = 1000  # in a submission
MAX_LENGTH = 40  # letters


def defined_names(cells: Iterable[Cell]) -> frozenset[str]:
    """Return the names that cells define anywhere: functions, classes, parameters, variables and imports."""
    return frozenset().union(*(_names_defined_in(cell.source) for cell in cells))


@lru_cache(maxsize=256)  # each run of a submission has the same cells, and those as released are in all submissions
def _names_defined_in(source: str) -> frozenset[str]:
    try:
        nodes = list(ast.walk(parsed(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    names |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    names |= {(node.asname or node.name).partition(".")[0] for node in nodes if isinstance(node, ast.alias)}
    return frozenset(names)


def suggestion(raised: Raised, names: frozenset[str]) -> str:
    """Return "; did you mean `softmax`?" if the line of an exception has one misspelled name; otherwise "".

    names: those that the submission defines.
    """
    return _suggestion(raised.type, raised.line.partition(": ")[2], names) if len(names) <= MAX_KNOWN else ""


@lru_cache(maxsize=64)  # a function often raises in the same line in all cases
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
    """Return the only suggestion for unknown names, each with those that it may stand for; "" unless there is one."""
    short = [(name, known) for name, known in unknown if len(name) <= MAX_LENGTH]
    if len(short) > MAX_UNKNOWN:
        return ""
    suggestions = (did_you_mean(name, [k for k in known if len(k) <= MAX_LENGTH]) for name, known in short)
    made = [words for words in suggestions if words]
    return made[0] if len(made) == 1 else ""
