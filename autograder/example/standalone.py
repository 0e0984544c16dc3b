"""The source of one function or class with everything it uses, so that it can stand alone in a notebook cell."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

OURS = ("solutions.", "autograder.", "check.")


def standalone(function: Callable, name: str) -> str:
    """Return source that defines `name` as this function does, without the course's modules.

    Helpers and functions of `solutions` are included under new names, and so are imports of other modules.
    """
    definitions: dict[str, str] = {}
    _add(function, name, definitions)
    return "\n\n\n".join(sorted(definitions.values(), key=lambda source: not source.startswith(("import ", "from "))))


def _add(function: Callable, name: str, definitions: dict[str, str]) -> None:
    """Add the definition of a function under a name, after the definitions of everything it uses."""
    definitions[name] = ""  # reserve the name first, because functions may call each other in circles
    definition: Any = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    definition.name, definition.decorator_list = name, []
    if ast.get_docstring(definition) is not None:  # a mistake's docstring would give the mistake away
        definition.body = definition.body[1:] or [ast.Pass()]
    source = ast.unparse(_Rename(function, definitions).visit(definition))
    del definitions[name]  # a default argument needs what it uses at once, so this definition must come last
    definitions[name] = source


class _Rename(ast.NodeTransformer):
    """Give the global names in a function's body the names under which their definitions are included."""

    def __init__(self, function: Callable, definitions: dict[str, str]):
        enclosed = inspect.getclosurevars(function).nonlocals if isinstance(function, FunctionType) else {}
        self.globals, self.definitions = {**vars(sys.modules[function.__module__]), **enclosed}, definitions
        methods = vars(function).values() if isinstance(function, type) else [function]
        codes: list[CodeType] = [method.__code__ for method in methods if isinstance(method, FunctionType)]
        for code in codes:
            codes += [constant for constant in code.co_consts if inspect.iscode(constant)]
        self.locals = {name for code in codes for name in (*code.co_varnames, *code.co_cellvars)}

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        owner = self.globals.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(owner, ModuleType) and owner.__name__.startswith(OURS):
            return self._renamed(getattr(owner, node.attr), node.attr)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self.locals or node.id not in self.globals:
            return node
        return self._renamed(self.globals[node.id], node.id)

    def _renamed(self, value: Any, name: str) -> ast.Name:
        """Include the definition of a global, and return its new name."""
        if isinstance(value, ModuleType):
            self.definitions[name] = f"import {value.__name__} as {name}"
        elif not callable(value) or isinstance(value, partial):
            source = self._expression(value)  # what it uses must be defined first
            self.definitions[name] = f"{name} = {source}"
        elif not value.__module__.startswith(OURS):
            self.definitions[name] = f"from {value.__module__} import {value.__name__} as {name}"
        else:
            module = value.__module__.partition(".")[2].replace(".", "_")
            name = f"_{module}_{value.__name__}"
            if name not in self.definitions:
                _add(value, name, self.definitions)
        return ast.Name(name)

    def _expression(self, value: Any) -> str:
        """Return an expression with the value of a global, and include the definitions of what it uses."""
        if isinstance(value, np.ndarray):
            self.definitions["np"] = "import numpy as np"
            return f"np.array({value.tolist()!r}, {value.dtype.name!r})"
        if isinstance(value, partial):
            self.definitions["functools"] = "import functools"
            positional = map(self._expression, (value.func, *value.args))
            named = (f"{name}={self._expression(option)}" for name, option in value.keywords.items())
            return f"functools.partial({', '.join([*positional, *named])})"
        if isinstance(value, tuple):
            return f"({' '.join(f'{self._expression(item)},' for item in value)})"
        return self._renamed(value, value.__name__).id if callable(value) else repr(value)
