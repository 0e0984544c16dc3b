"""Say which modules an exercise may use: Python's standard library, NumPy, and what the chapters import.

Grading refuses the use of any other module, not its import, so that an unused import costs nothing. `check` warns
students at home.
"""

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from check.reachable import is_of_notebook, named, reachable

SHOWING = ("IPython", "ipykernel")  # they have `display`, for example; in grading all of it does nothing
ALLOWED = ("numpy", "matplotlib", "mpl_toolkits", *SHOWING, "check", "solutions", "autograder", "__main__")


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
    for value in reachable(function):
        if is_of_notebook(value, function):
            names |= {name.partition(".")[0] for name in named(value, "IMPORT_NAME")}
        else:
            names.add(_origin(value))
    return sorted(name for name in names if not is_ours(name))


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
