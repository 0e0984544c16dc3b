"""Replace modules that a chapter does not import with placeholders: student code may import them, but not use them.

So an import that nothing needs costs no points, and code that uses such a module earns none. If the code catches the
failure of an import, the import fails, and the code goes on without the module. The sandbox does not contain the files
of these modules either, so code that bypasses this finder finds no module at all.
"""

import ast
import importlib.machinery
import linecache
import os
import sys
import types
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NoReturn

from check import allowed_imports

_CATCHING = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
_placeholders: list[str] = []  # names of the modules that are placeholders now


class RefusingFinder:
    """A finder of modules, placed before Python's own, and the loader of the placeholders.

    It has no base class from `importlib.abc`, whose import takes as long as running a submission.

    Args:
        distributions: names of further modules that this run may import.
        bundle: folder that holds the chapter's own modules.
    """

    def __init__(self, distributions: Iterable[str], bundle: str):
        self._distributions, self._bundle = frozenset(distributions), bundle

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a placeholder if a student's cell imports a module that is not allowed.

        Return None, so that Python's own finders decide, for our own modules and for imports inside packages. The setup
        cell gets ModuleNotFoundError, as if the module were not installed. So does an import whose failure is caught.
        """
        top = name.partition(".")[0]
        if allowed_imports.is_allowed(top) or top in self._distributions or self._is_in_bundle(top):
            return None
        cell, line = _place_of_import()
        if cell == "<cell setup>":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if not cell:
            return None
        if _is_caught("".join(linecache.getlines(cell)), line):
            raise ModuleNotFoundError(allowed_imports.refusal(name), name=name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return the placeholder of a module."""
        _placeholders.append(spec.name)
        return _PlaceholderModule(spec.name, allowed_imports.refusal(spec.name))

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: a placeholder has no code."""

    def _is_in_bundle(self, top: str) -> bool:
        return any(os.path.exists(os.path.join(self._bundle, path)) for path in (top, f"{top}.py"))


class _Placeholder:
    """Stands for anything in a refused module. It can be assigned and passed on, but any use raises ImportError."""

    why: str

    def __init__(self, why: str):
        self.__dict__["why"] = why

    def __getattr__(self, name: str) -> "_Placeholder":
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Placeholder(self.why)

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ImportError(self.why)

    __call__ = __mro_entries__ = __array__ = __iter__ = __getitem__ = __enter__ = __exit__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __float__ = _refuse
    __array_ufunc__ = __array_function__ = _refuse
    dtype = property(_refuse)

    def __instancecheck__(self, instance: object) -> bool:
        return False


class _PlaceholderModule(types.ModuleType):
    _why: str

    def __init__(self, name: str, why: str):
        super().__init__(name)
        self.__dict__["_why"] = why

    def __getattr__(self, name: str) -> _Placeholder:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Placeholder(self._why)


def forget_placeholders() -> None:
    """Remove the placeholders from the imported modules, so that the next import is judged by where it is."""
    while _placeholders:
        name = _placeholders.pop()
        if type(sys.modules.get(name)) is _PlaceholderModule:
            del sys.modules[name]


def _place_of_import() -> tuple[str, int]:
    """Return the file name and the line of the code that imports a module; "" if this code is not in a cell.

    Imports inside packages do not count, nor does `importlib.util`, which only asks whether there is such a module.
    """
    frame: types.FrameType | None = sys._getframe(2)
    while frame and _is_part_of_importing(frame.f_code.co_filename):
        frame = frame.f_back
    if frame and frame.f_code.co_filename.startswith("<cell "):
        return frame.f_code.co_filename, frame.f_lineno
    return "", 0


def _is_part_of_importing(file: str) -> bool:
    return file == __file__ or ("importlib" in file and "importlib.util" not in file)


@lru_cache(maxsize=64)  # a function may import in each of its calls
def _is_caught(source: str, line: int) -> bool:
    """Return whether a line is inside a `try` of the same function that catches a failing import."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # code that the cell made while it ran
        return False
    caught = False
    for node in nodes:  # the outer statements first
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _holds(node.body, line):
            caught = False  # the function may run after the `try` around it
        elif isinstance(node, ast.Try | ast.TryStar) and _holds(node.body, line):
            caught = caught or any(map(_catches, node.handlers))
    return caught


def _holds(body: Sequence[ast.stmt], line: int) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or 0)


def _catches(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches ImportError, as far as its source says so."""
    names = (
        {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else set(_CATCHING)
    )
    return not names.isdisjoint(_CATCHING)
