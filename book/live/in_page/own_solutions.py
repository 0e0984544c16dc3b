"""What `solutions` means to a reader: their own functions of earlier chapters, and what the book gives besides.

The solutions of the book are on none of its pages and in none of its bundles. In a page, a reader's functions are those
that pass there; in a folder of notebooks, where this file is solutions/__init__.py, those of the notebooks beside it.
"""

import contextlib
import importlib.util
import json
import linecache
import sys
import types
from pathlib import Path

OURS = "solutions"
STUB = "raise NotImplementedError"


class NotSolvedYet(Exception):
    """Raised by a function that stands in for one which the reader has not written yet."""


class Reader:
    """What a reader has.

    Args:
        earlier: list of chapters, each a dict of "number", "setup", "names" of its exercises and "cells", a list of
            (name, source) of those that the reader has solved.
        given: dict, name -> source of functions that the book gives.
    """

    def __init__(self, earlier, given):
        self.earlier, self.given, self.spaces = earlier, given, {}

    def function(self, name):
        """The reader's function of that name, or one that says where to write it."""
        if name in self.given:
            return self.space("given", "import numpy as np", [(name, self.given[name])])[name]
        for chapter in self.earlier:
            if name in chapter["names"]:
                number = chapter["number"]
                if name in dict(chapter["cells"]):
                    space = self.space(number, chapter["setup"], chapter["cells"])
                    if name in space:
                        return space[name]
                where = f"`{name}` is an exercise of chapter {number}, and is not solved there yet"
                return standing_in(name, f"{where}: solve it there, and it is here too")
        return standing_in(name, f"`{name}` is one of the book's own functions, and does not come with it")

    def space(self, key, setup, cells):
        """The namespace of an earlier chapter, with all of its cells that run."""
        if key not in self.spaces:
            self.spaces[key] = {"__name__": "__main__"}
            exec(compiled("setup", setup), self.spaces[key])
        for name, source in cells:
            if name not in self.spaces[key]:
                runs(name, source, self.spaces[key])
        return self.spaces[key]


def standing_in(name, words):
    """A function that says, when it is called, why there is none."""

    def missing(*arguments, **named):
        raise NotSolvedYet(words)

    missing.__name__, missing.__module__ = name, OURS
    return missing


def compiled(name, source):
    """As a cell of a notebook: a traceback knows its lines, and `check` knows that they are the reader's."""
    file = f"<cell {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return compile(source, file, "exec")


def runs(name, source, space):
    """Run a cell in a namespace; whether it came to its end."""
    try:
        exec(compiled(name, source), space)
    except BaseException:  # also the SystemExit of a reader's code
        return False
    return True


class Finder:
    """Finds the modules of `solutions` that are no files: their names are the reader's functions.

    folder: where those lie that are files.
    """

    def __init__(self, reader, folder):
        self.reader, self.folder = reader, Path(folder)

    def find_spec(self, name, path=None, target=None):
        package, _, module = name.partition(".")
        if package != OURS or (self.folder / f"{module}.py").exists():
            return None
        spec = importlib.util.spec_from_loader(name, self, is_package=not module)
        if not module:
            spec.submodule_search_locations = [str(self.folder)]
        return spec

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        if spec.name != OURS:
            module.__getattr__ = self.attribute
        return module

    def exec_module(self, module):
        pass

    def attribute(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self.reader.function(name)


@contextlib.contextmanager
def solutions_by(reader, folder=OURS):
    """Let `solutions` mean what a reader has, beside the modules of it that are files in a folder."""
    finder = Finder(reader, folder)
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == OURS}
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == OURS]:
            del sys.modules[name]
        sys.modules.update(before)


def chapters_in(folder):
    """The chapters of the notebooks in a folder, as Reader takes them; one that is cut off is left out."""
    found = []
    for file in sorted(Path(folder).glob("[0-9][0-9]_*.ipynb")):
        with contextlib.suppress(ValueError, KeyError):
            cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
            about = [(cell["metadata"].get("nbgrader", {}), "".join(cell["source"])) for cell in cells]
            written = [(its["grade_id"], source) for its, source in about if its.get("solution")]
            setup = "\n".join(source for its, source in about if its.get("grade_id") == "setup")
            solved = [(name, source) for name, source in written if STUB not in source]
            names = [name for name, _ in written]
            found.append({"number": int(file.name[:2]), "setup": setup, "names": names, "cells": solved})
    return found


if __name__ == OURS:
    _here = Path(__file__).parent
    _given = json.loads((_here / "given.json").read_text(encoding="utf-8"))
    sys.meta_path.insert(0, Finder(Reader(chapters_in(_here.parent), _given), _here))
