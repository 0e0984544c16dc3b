"""What runs in the worker of a page: a reader's cell, beneath what stands above it, and what `check` finds.

Every run has a namespace of its own, as after a restart of a notebook: the chapter's setup, the reader's cells above,
the cell itself. What a setup imports from `solutions` is what the reader wrote in earlier chapters.
"""

import contextlib
import importlib.util
import io
import linecache
import sys
import traceback
import types

from autograder.check.check import NoPyTorch, checked

OURS = "solutions"
LONGEST = 10_000  # characters; an endless print must not fill the page


class NotSolvedYet(Exception):
    """Raised by a function that stands in for one which the reader has not written yet."""


def run(job):
    """Run a cell and check what it defines.

    Args:
        job: dict with "name", the exercise; "cells", a list of (name, source) of the page's cells down to its own;
            "setup", a source; "earlier", a list of chapters, each a dict of "number", "setup", "names" of its exercises
            and "cells" that pass; "given", name -> source of what the book gives besides.

    Returns:
        dict of plain values: "passed"; "html" and "headline" of the verdict, "" if there is none; "out", what was
        printed; "error", the reader's own part of a traceback; "broken", names of the cells above that do not run.
    """
    *above, (name, source) = job["cells"]
    space, broken, answer = {"__name__": "__main__"}, [], {"passed": False, "html": "", "headline": "", "error": ""}
    with solutions_by(Reader(job["earlier"], job["given"])), _printed() as out:
        exec(_compiled("setup", job["setup"]), space)
        out.forget()
        for other, text in above:
            if not _runs(other, text, space):
                broken.append(other)
                space.pop(other, None)
        out.forget()
        try:
            exec(_compiled(name, source), space)
            if name not in space:
                answer["error"] = f"This cell defines no {name}."
            else:
                found = checked(space[name])
                if found.result.function == name:
                    answer |= {"passed": found.result.passed, "html": found.html}
                    answer["headline"] = found.text.split("\n", 1)[0]
                else:
                    answer["error"] = f"{name} is another name for {found.result.function}: write it with def {name}."
        except NoPyTorch as missing:
            answer["error"] = str(missing)
        except BaseException as error:  # also the SystemExit and the KeyboardInterrupt of the reader's code
            answer["error"] = own_part(error)
    return answer | {"broken": broken, "out": out.text()}


class Reader:
    """What a reader has of earlier chapters: their own functions that pass, and what the book gives."""

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
                return standing_in(
                    name,
                    f"`{name}` is an exercise of chapter {number}, and does not pass in this browser yet: solve it "
                    "there, and it is here too",
                )
        return standing_in(name, f"`{name}` is not on this page; the chapter's bundle has it")

    def space(self, key, setup, cells):
        """The namespace of an earlier chapter, with all of its cells that run."""
        if key not in self.spaces:
            self.spaces[key] = {"__name__": "__main__"}
            exec(_compiled("setup", setup), self.spaces[key])
        for name, source in cells:
            if name not in self.spaces[key]:
                _runs(name, source, self.spaces[key])
        return self.spaces[key]


def standing_in(name, words):
    """A function that says, when it is called, why there is none."""

    def missing(*arguments, **named):
        raise NotSolvedYet(words)

    missing.__name__ = name
    return missing


class _Finder:
    """Finds modules of `solutions` that are no files: their names are the reader's functions."""

    def __init__(self, reader):
        self.reader = reader

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] != OURS:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=name == OURS)

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
def solutions_by(reader):
    """Let `solutions` mean what a reader has; modules that are files come first."""
    finder = _Finder(reader)
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == OURS}
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == OURS]:
            del sys.modules[name]
        sys.modules.update(before)


class _Bounded(io.TextIOBase):
    """A stream that keeps its beginning, and counts the rest."""

    def __init__(self):
        self.forget()

    def forget(self):
        self.parts, self.size = [], 0

    def writable(self):
        return True

    def write(self, text):
        if self.size < LONGEST:
            self.parts.append(text[: LONGEST - self.size])
        self.size += len(text)
        return len(text)

    def text(self):
        more = self.size - LONGEST
        return "".join(self.parts) + (f"\n… and {more:,} characters more" if more > 0 else "")


@contextlib.contextmanager
def _printed():
    out = _Bounded()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield out


def _compiled(name, source):
    """As a cell of a notebook: a traceback knows its lines, and `check` knows that they are the reader's."""
    file = f"<cell {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return compile(source, file, "exec")


def _runs(name, source, space):
    try:
        exec(_compiled(name, source), space)
    except BaseException:
        return False
    return True


def own_part(error):
    """A traceback without the frames that are not the reader's own."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("<cell ")]
    lines = [f"line {frame.lineno}: {frame.line}\n" if frame.line else f"line {frame.lineno}\n" for frame in frames]
    said = traceback.format_exception_only(error)
    if isinstance(error, SyntaxError):
        said = [line for line in said if not line.lstrip().startswith('File "<cell ')]
        lines = [f"line {error.lineno}:\n"] if error.lineno else []
    return "".join([*lines, *said]).rstrip()[:4000]
