"""The source of one function or class with all that it leans on, ready to stand alone in a notebook cell."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

OURS = ("solutions.", "autograder.", "check.")


def standalone(function: Callable, name: str) -> str:
    """Source that defines `name` as this function does, needing nothing of the course's modules.

    Helpers and functions of `solutions` come along under names of their own; imports of other modules too.
    """
    pieces: dict[str, str] = {}
    _bring(function, name, pieces)
    return "\n\n\n".join(sorted(pieces.values(), key=lambda piece: not piece.startswith(("import ", "from "))))


def _bring(function, name, pieces):
    pieces[name] = ""  # claimed before its source is ready: functions may call each other in circles
    definition: Any = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    definition.name, definition.decorator_list = name, []
    if ast.get_docstring(definition) is not None:  # a mistake's docstring says what is wrong with it
        definition.body = definition.body[1:] or [ast.Pass()]
    source = ast.unparse(_Rename(function, pieces).visit(definition))
    del pieces[name]  # and put in again behind all it leans on, which a default argument needs at once
    pieces[name] = source


class _Rename(ast.NodeTransformer):
    """Gives the global names in a function's body the names their definitions are brought along under."""

    def __init__(self, function, pieces):
        self.globals, self.pieces = vars(sys.modules[function.__module__]), pieces
        methods = vars(function).values() if isinstance(function, type) else [function]
        code = [method.__code__ for method in methods if isinstance(method, FunctionType)]
        for each in code:
            code += [constant for constant in each.co_consts if inspect.iscode(constant)]
        self.local = {name for each in code for name in (*each.co_varnames, *each.co_cellvars)}

    def visit_Attribute(self, node):
        owner = self.globals.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if isinstance(owner, ModuleType) and owner.__name__.startswith(OURS):
            return self._renamed(getattr(owner, node.attr), node.attr)
        return self.generic_visit(node)

    def visit_Name(self, node):
        if node.id in self.local or node.id not in self.globals:
            return node
        return self._renamed(self.globals[node.id], node.id)

    def _renamed(self, value, name):
        if isinstance(value, ModuleType):
            self.pieces[name] = f"import {value.__name__} as {name}"
        elif isinstance(value, np.ndarray):
            self.pieces["np"] = "import numpy as np"
            self.pieces[name] = f"{name} = np.array({value.tolist()!r}, {value.dtype.name!r})"
        elif not isinstance(value, FunctionType | type):
            self.pieces[name] = f"{name} = {value!r}"
        elif not value.__module__.startswith(OURS):
            self.pieces[name] = f"from {value.__module__} import {value.__name__} as {name}"
        else:
            room = value.__module__.partition(".")[2].replace(".", "_")
            name = f"_{room}_{value.__name__}"
            if name not in self.pieces:
                _bring(value, name, self.pieces)
        return ast.Name(name)
