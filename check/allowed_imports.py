"""What an exercise may be written with: Python's own library, NumPy, and what the chapters themselves import.

Anything else is refused in grading, where it is used and not where it is imported: an import that nothing needs costs
nothing. `check` says so at home.
"""

import dis
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_SHOWING = ("IPython", "ipykernel")  # `display` and the like: grading has its own, which shows nothing
OURS = ("numpy", "matplotlib", "mpl_toolkits", "check", "solutions", "autograder", "__main__")


def is_ours(name: str) -> bool:
    """Whether a module, by its dotted name, is one that an exercise may be written with."""
    top = name.partition(".")[0]
    return top in OURS or top in sys.stdlib_module_names


def refusal(name: str) -> str:
    """Why an exercise that uses a module fails."""
    return f"{name.partition('.')[0]} is not for this exercise, and what it computes earns nothing: write it with NumPy"


def foreign(function: Callable) -> list[str]:
    """The modules that a function uses, itself or through others of its notebook, and should not; by name, sorted."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType) and value.__module__ == function.__module__ and not _is_installed(value):
            waiting += _mentioned(value)
            found |= {name.partition(".")[0] for name in _named(value, "IMPORT_NAME")}
        else:
            found.add(_origin(value))
    return sorted(name for name in found if not is_ours(name) and name not in _SHOWING)


def _is_installed(function: FunctionType) -> bool:
    return "-packages" in function.__code__.co_filename  # site-packages, or dist-packages


def _mentioned(function: Any) -> Iterator[Any]:
    """What stands behind the global names of a function, and in what it encloses."""
    names = set(_named(function, "LOAD_GLOBAL"))
    yield from (value for name, value in getattr(function, "__globals__", {}).items() if name in names)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


def _named(function: Any, operation: str) -> Iterator[str]:
    """The names that an operation of Python's has in the code of a function."""
    steps = (step for code in _codes(function) for step in dis.get_instructions(code))
    return (str(step.argval) for step in steps if step.opname == operation)


def _codes(function: Any) -> Iterator[CodeType]:
    """A function's code, and that of all that is written inside it."""
    waiting = [function.__code__] if hasattr(function, "__code__") else []
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [each for each in code.co_consts if isinstance(each, CodeType)]


def _origin(value: Any) -> str:
    """The top of the module that a value is of, or comes from."""
    if isinstance(value, ModuleType):
        name = value.__name__
    elif isinstance(value, np.ufunc):  # all of one type, which is NumPy's
        name = next((name for name, module in sys.modules.items() if _holds(module, value)), "numpy")
    elif isinstance(value, BuiltinFunctionType):
        name = value.__module__ or getattr(value.__self__, "__module__", None) or type(value.__self__).__module__
    else:
        # A type, or a function, says itself where it is from.
        name = getattr(value, "__module__", None) or type(value).__module__
    return str(name).partition(".")[0]


def _holds(module: Any, value: np.ufunc) -> bool:
    return getattr(module, "__dict__", {}).get(value.__name__) is value
