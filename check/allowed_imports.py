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

# The distributions that chapters use. The sandbox has these and what they require, and nothing else that is installed.
CHAPTER_DISTRIBUTIONS = ("numpy", "matplotlib")
SHOWING = ("IPython", "ipykernel")  # for `display` and the like; in grading they do nothing
ALLOWED = (*CHAPTER_DISTRIBUTIONS, "mpl_toolkits", *SHOWING, "check", "solutions", "autograder", "__main__")


def is_allowed(name: str) -> bool:
    """Whether an exercise may use the module with this dotted name."""
    top = name.partition(".")[0]
    return top in ALLOWED or top in sys.stdlib_module_names


def refusal(name: str) -> str:
    """The message for an exercise that uses a forbidden module."""
    return f"{name.partition('.')[0]} is not allowed in this exercise and earns no points: write it with NumPy"


def foreign(function: Callable) -> list[str]:
    """Name the forbidden modules that a function uses, directly or through functions of its notebook."""
    names: set[str] = set()
    for value in reachable(function):
        if is_of_notebook(value, function):
            names |= {name.partition(".")[0] for name in named(value, "IMPORT_NAME")}
        else:
            names.add(_origin(value))
    return sorted(name for name in names if not is_allowed(name))


def _origin(value: Any) -> str:
    """The top-level package that a value comes from."""
    if isinstance(value, ModuleType):
        name = value.__name__
    elif isinstance(value, np.ufunc):  # all of them have NumPy's type
        name = next((name for name, module in sys.modules.items() if _holds(module, value)), "numpy")
    elif isinstance(value, BuiltinFunctionType):
        name = value.__module__ or getattr(value.__self__, "__module__", None) or type(value.__self__).__module__
    else:
        # A type or a function knows its module.
        name = getattr(value, "__module__", None) or type(value).__module__
    return str(name).partition(".")[0]


def _holds(module: Any, value: np.ufunc) -> bool:
    return getattr(module, "__dict__", {}).get(value.__name__) is value
