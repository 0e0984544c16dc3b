"""Find what a function refers to, also through the functions of its notebook."""

import dis
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any


def reachable(function: Callable) -> Iterator[Any]:
    """Yield a function and all that it refers to, directly or through functions of its notebook."""
    seen: set[int] = set()
    waiting: list[Any] = [function]
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            if is_of_notebook(value, function):
                waiting += _referenced(value)


def called(function: Callable, is_wanted: Callable[[str], bool]) -> list[str]:
    """Return the wanted global names that a function reads, also through functions whose names are not wanted."""
    values = getattr(function, "__globals__", {})
    names: list[str] = []
    seen: set[str] = set()
    waiting: list[Any] = [function]
    while waiting:
        new = sorted(set(named(waiting.pop(), "LOAD_GLOBAL")) - seen)
        seen.update(new)
        names += filter(is_wanted, new)
        others = (values.get(name) for name in new if not is_wanted(name))
        waiting += [value for value in others if is_of_notebook(value, function)]
    return names


def is_of_notebook(value: Any, function: Callable) -> bool:
    """Whether a value is a function that was defined in the same notebook as `function`."""
    return isinstance(value, FunctionType) and value.__module__ == function.__module__ and not _is_installed(value)


def named(function: Any, operation: str) -> Iterator[str]:
    """The names in the instructions of one kind, such as "LOAD_GLOBAL", in a function's code."""
    steps = (step for code in _codes(function) for step in dis.get_instructions(code))
    return (str(step.argval) for step in steps if step.opname == operation)


def _is_installed(function: FunctionType) -> bool:
    return "-packages" in function.__code__.co_filename  # site-packages, or dist-packages


def _referenced(function: Any) -> Iterator[Any]:
    """Yield the values of a function's global names and of its closure."""
    names = set(named(function, "LOAD_GLOBAL"))
    yield from (value for name, value in getattr(function, "__globals__", {}).items() if name in names)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # the cell is still empty
            continue


def _codes(function: Any) -> Iterator[CodeType]:
    """Yield the code of a function and of all functions inside it."""
    waiting = [function.__code__] if hasattr(function, "__code__") else []
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
