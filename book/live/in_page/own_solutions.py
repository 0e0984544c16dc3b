"""Let `solutions` mean the reader's own functions of earlier chapters, and helper functions of the book.

No page and no bundle contains the solutions of the book. In a page, the reader's functions are those that pass there.
In a folder of notebooks this file is solutions/__init__.py, and the functions are those of the notebooks beside it.
"""

import contextlib
import json
import linecache
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

OURS = "solutions"
STUB = "raise NotImplementedError"

Cells = Iterable[tuple[str, str]]  # name of an exercise, source of its cell
Namespace = dict[str, Any]


class NotSolvedYet(Exception):
    """A function was called that the reader has not written yet."""


class Reader:
    """A reader's functions.

    earlier: list of chapters, each a dict of "number", "setup" with its given functions, "names" of its exercises and
    "cells", a list of (name, source) of the exercises that the reader has solved. helpers: name -> source of functions
    of the book that solve no exercise.

    `waits_for` are the names of the functions that were called and that the reader has not written yet.
    """

    def __init__(self, earlier: list[dict[str, Any]], helpers: dict[str, str]):
        self.earlier, self.helpers = earlier, helpers
        self.namespaces: dict[str, Namespace] = {}
        self.waits_for: list[str] = []

    def function(self, name: str) -> Callable:
        """Return the reader's function of that name, or one that says where to write it when it is called."""
        if name in self.helpers:
            return self.namespace("helpers", "import numpy as np", [(name, self.helpers[name])])[name]
        for chapter in self.earlier:
            if f"def {name}(" in chapter["setup"]:  # a given function, which calls the reader's
                return self.namespace(str(chapter["number"]), chapter["setup"], chapter["cells"])[name]
            if name in chapter["names"]:
                number = chapter["number"]
                if name in dict(chapter["cells"]):
                    namespace = self.namespace(str(number), chapter["setup"], chapter["cells"])
                    if name in namespace:
                        return namespace[name]
                problem = f"`{name}` is an exercise of chapter {number}, and is not solved there yet"
                return self.missing_function(name, f"{problem}: solve it there, and you can use it here")
        return self.missing_function(name, f"`{name}` is one of the book's own functions, which is not available here")

    def namespace(self, key: str, setup: str, cells: Cells) -> Namespace:
        """Return the namespace of an earlier chapter with all of its cells that run."""
        if key not in self.namespaces:
            self.namespaces[key] = {"__name__": "__main__"}
            exec(compiled("setup", setup), self.namespaces[key])
        for name, source in cells:
            if name not in self.namespaces[key]:
                runs(name, source, self.namespaces[key])
        return self.namespaces[key]

    def missing_function(self, name: str, reason: str) -> Callable:
        """Return a function that raises NotSolvedYet with the reason when it is called."""

        def missing(*arguments: object, **named: object) -> None:
            self.waits_for.append(name)
            raise NotSolvedYet(reason)

        missing.__name__, missing.__module__ = name, OURS
        return missing


def file_of(name: str) -> str:
    """Return the name of the file that a traceback shows for a cell."""
    return f"<cell {name}>"


def compiled(name: str, source: str) -> types.CodeType:
    """Compile a source as a cell: a traceback shows its lines, and `check` recognises them as the reader's."""
    file = file_of(name)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return compile(source, file, "exec")


def runs(name: str, source: str, namespace: Namespace) -> bool:
    """Run a cell in a namespace, and return whether it ran to the end."""
    try:
        exec(compiled(name, source), namespace)
    except BaseException:  # the reader's code may raise SystemExit
        return False
    return True


class Finder:
    """Find the modules of `solutions` that are neither files nor folders. Their names are the reader's functions.

    folder: the folder with the modules that are files, and with the package of the functions that the book lends.
    """

    def __init__(self, reader: Reader, folder: str | Path):
        self.reader, self.folder = reader, Path(folder)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, module = name.partition(".")
        top = module.partition(".")[0]
        is_file = (self.folder / f"{top}.py").exists() or (top and (self.folder / top).is_dir())
        if package != OURS or is_file:
            return None
        # We do not derive from importlib.abc.Loader, because that module takes a long time to import in a browser.
        spec = ModuleSpec(name, self, is_package=not module)  # type: ignore[arg-type]
        if not module:
            spec.submodule_search_locations = [str(self.folder)]
        return spec

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        if spec.name != OURS:
            vars(module)["__getattr__"] = self.attribute
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module has no code."""

    def attribute(self, name: str) -> Callable:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.reader.function(name)


@contextlib.contextmanager
def solutions_by(reader: Reader) -> Iterator[None]:
    """Let `solutions` mean a reader's functions, and the modules of it that are files."""
    finder = Finder(reader, OURS)
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == OURS}
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == OURS]:
            del sys.modules[name]
        sys.modules.update(before)


def chapters_in(folder: Path) -> list[dict[str, Any]]:
    """Return the chapters of the notebooks in a folder, as Reader takes them, without notebooks that are incomplete."""
    chapters = []
    for file in sorted(folder.glob("[0-9][0-9]_*.ipynb")):
        with contextlib.suppress(ValueError, KeyError):
            cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
            tagged = [(cell["metadata"].get("nbgrader", {}), "".join(cell["source"])) for cell in cells]
            written = [(tags["grade_id"], source) for tags, source in tagged if tags.get("solution")]
            setup = "\n".join(source for tags, source in tagged if _is_of_setup(tags.get("grade_id", "")))
            solved = [(name, source) for name, source in written if STUB not in source]
            names = [name for name, _ in written]
            chapters.append({"number": int(file.name[:2]), "setup": setup, "names": names, "cells": solved})
    return chapters


def _is_of_setup(grade_id: str) -> bool:
    """Return whether a cell of a notebook is the setup cell or a given function."""
    return grade_id == "setup" or grade_id.startswith("given-")


if __name__ == OURS:
    _here = Path(__file__).parent
    _helpers = json.loads((_here / "helpers.json").read_text(encoding="utf-8"))
    sys.meta_path.insert(0, Finder(Reader(chapters_in(_here.parent), _helpers), _here))
