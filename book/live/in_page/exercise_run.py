"""What runs in the worker of a page: a reader's cell, beneath what stands above it, and what `check` finds.

Every run has a namespace of its own, as after a restart of a notebook: the chapter's setup, the reader's cells above,
the cell itself. What a setup imports from `solutions` is what the reader wrote in earlier chapters.
"""

import contextlib
import io
import traceback

from check.checking import NoPyTorch, checked

from .own_solutions import Reader, compiled, runs, solutions_by

LONGEST = 10_000  # characters; an endless print must not fill the page


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
    with solutions_by(Reader(job["earlier"], job["given"])), printed() as out:
        exec(compiled("setup", job["setup"]), space)
        out.forget()
        for other, text in above:
            if not runs(other, text, space):
                broken.append(other)
                space.pop(other, None)
        out.forget()
        try:
            exec(compiled(name, source), space)
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
def printed():
    out = _Bounded()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield out


def own_part(error):
    """A traceback without the frames that are not the reader's own."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("<cell ")]
    lines = [f"line {frame.lineno}: {frame.line}\n" if frame.line else f"line {frame.lineno}\n" for frame in frames]
    said = traceback.format_exception_only(error)
    if isinstance(error, SyntaxError):
        said = [line for line in said if not line.lstrip().startswith('File "<cell ')]
        lines = [f"line {error.lineno}:\n"] if error.lineno else []
    return "".join([*lines, *said]).rstrip()[:4000]
