"""Say which modules an exercise may use: Python's standard library, NumPy, and what the chapters import.

Grading refuses the use of any other module, not its import, so that an unused import costs nothing. `check` warns
students at home.
"""

import dis
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_SHOWING = ("IPython", "ipykernel")  # `display`, for example; grading has one that shows nothing
ALLOWED = ("numpy", "matplotlib", "mpl_toolkits", "check", "solutions", "autograder", "__main__")


def is_ours(name: str) -> bool:
    """Return whether an exercise may use a module, given by its dotted name."""
    top = name.partition(".")[0]
    return top in ALLOWED or top in sys.stdlib_module_names


def refusal(name: str) -> str:
    """Return the message for an exercise that uses a module that is not allowed."""
    return f"{name.partition('.')[0]} is not allowed in this exercise and earns no points: write it with NumPy"


def foreign(function: Callable) -> list[str]:
    """Return the names of modules that a function uses but may not use, also through functions of its notebook."""
    names: set[str] = set()
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType) and value.__module__ == function.__module__ and not _is_installed(value):
            waiting += _referenced(value)
            names |= {name.partition(".")[0] for name in _named(value, "IMPORT_NAME")}
        else:
            names.add(_origin(value))
    return sorted(name for name in names if not is_ours(name) and name not in _SHOWING)


def _is_installed(function: FunctionType) -> bool:
    return "-packages" in function.__code__.co_filename  # site-packages, or dist-packages


def _referenced(function: Any) -> Iterator[Any]:
    """Yield the values of a function's global names and of its closure."""
    names = set(_named(function, "LOAD_GLOBAL"))
    yield from (value for name, value in getattr(function, "__globals__", {}).items() if name in names)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # the cell is still empty
            continue


def _named(function: Any, operation: str) -> Iterator[str]:
    """Return the names that instructions of one kind have in a function's code."""
    steps = (step for code in _codes(function) for step in dis.get_instructions(code))
    return (str(step.argval) for step in steps if step.opname == operation)


def _codes(function: Any) -> Iterator[CodeType]:
    """Yield the code of a function and of all functions inside it."""
    waiting = [function.__code__] if hasattr(function, "__code__") else []
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _origin(value: Any) -> str:
    """Return the top-level package that a value comes from."""
    if isinstance(value, ModuleType):
        name = value.__name__
    elif isinstance(value, np.ufunc):  # their common type is NumPy's
        name = next((name for name, module in sys.modules.items() if _holds(module, value)), "numpy")
    elif isinstance(value, BuiltinFunctionType):
        name = value.__module__ or getattr(value.__self__, "__module__", None) or type(value.__self__).__module__
    else:
        # A type or a function knows its module.
        name = getattr(value, "__module__", None) or type(value).__module__
    return str(name).partition(".")[0]


def _holds(module: Any, value: np.ufunc) -> bool:
    return getattr(module, "__dict__", {}).get(value.__name__) is value
