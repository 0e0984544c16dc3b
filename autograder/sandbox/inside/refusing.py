"""Replace modules that a chapter does not import with placeholders: student code may import them, but not use them.

So a forgotten import that nothing needs costs nothing, and code that uses such a module earns nothing. The files of
these modules are not in the sandbox either: code that gets round this finder finds no module at all.
"""

import importlib.machinery
import os
import sys
import types
from collections.abc import Iterable
from typing import Any, NoReturn

from check import allowed_imports


class RefusingFinder:
    """A finder of modules, placed before Python's own, and the loader of the placeholders.

    It has no base class of `importlib.abc`, because importing that takes as long as running a submission.

    Args:
        distributions: names of further modules that this run may import.
        bundle: folder that holds the chapter's own modules.
    """

    def __init__(self, distributions: Iterable[str], bundle: str):
        self._distributions, self._bundle = frozenset(distributions), bundle

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a placeholder if a student's cell imports a module that is not allowed.

        Defer to Python's finders (None) for our own modules, and for what packages import themselves. The setup cell
        gets ModuleNotFoundError, as if the module were not installed.
        """
        top = name.partition(".")[0]
        if allowed_imports.is_ours(top) or top in self._distributions or self._is_in_bundle(top):
            return None
        cell = _importing_cell()
        if cell == "<cell setup>":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if not cell:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return the placeholder of a module."""
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


def _importing_cell() -> str:
    """Return the file name of the cell whose code imports a module; "" if a package imports it."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame and ("importlib" in frame.f_code.co_filename or frame.f_code.co_filename == __file__):
        frame = frame.f_back
    name = frame.f_code.co_filename if frame else ""
    return name if name.startswith("<cell ") else ""
