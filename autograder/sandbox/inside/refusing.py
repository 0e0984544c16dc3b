"""Modules that a chapter does not import: a student's cell may import them, and gets nothing that computes.

What they would compute earns nothing. An import that nothing needs, left over from a comparison, is to cost nothing.
The files are not in the sandbox either, so whoever goes round this finds no module at all.
"""

import importlib.machinery
import os
import sys
import types

from check import allowed_imports


class Refusing:
    """A finder of modules, to stand before Python's own, and their loader.

    It leans on no class of `importlib.abc`, which takes as long to import as a submission to run.

    Args:
        more: names of further modules that this run may import.
        bundle: folder whose modules are the chapter's own.
    """

    def __init__(self, more, bundle):
        self._more, self._bundle = frozenset(more), bundle

    def find_spec(self, name, path=None, target=None):
        """Python's own finders have the word for what is ours, and for what packages import for themselves."""
        top = name.partition(".")[0]
        if allowed_imports.is_ours(top) or top in self._more or self._is_of_the_bundle(top):
            return None
        cell = _asking_cell()
        if cell == "<cell setup>":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if not cell:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec):
        return _AbsentModule(spec.name, allowed_imports.refusal(spec.name))

    def exec_module(self, module):
        """There is nothing to execute."""

    def _is_of_the_bundle(self, top):
        return any(os.path.exists(os.path.join(self._bundle, path)) for path in (top, f"{top}.py"))


class _Absent:
    """Stands for anything of an absent module: it can be named and handed on, and does nothing."""

    def __init__(self, why):
        self.__dict__["why"] = why

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Absent(self.why)

    def _refuse(self, *args, **kwargs):
        raise ImportError(self.why)

    __call__ = __mro_entries__ = __array__ = __iter__ = __getitem__ = __enter__ = __exit__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __float__ = _refuse
    __array_ufunc__ = __array_function__ = _refuse
    dtype = property(_refuse)

    def __instancecheck__(self, instance):
        return False


class _AbsentModule(types.ModuleType):
    def __init__(self, name, why):
        super().__init__(name)
        self.__dict__["_why"] = why

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Absent(self._why)


def _asking_cell():
    """The cell whose code asks for an import, by its file name; empty if a package asks."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame and ("importlib" in frame.f_code.co_filename or frame.f_code.co_filename == __file__):
        frame = frame.f_back
    name = frame.f_code.co_filename if frame else ""
    return name if name.startswith("<cell ") else ""
