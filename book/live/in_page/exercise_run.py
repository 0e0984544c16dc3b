"""Run and check a reader's exercise, beneath the cells above it, in the worker of a page.

Each run has a new namespace, as after a restart of a notebook: the chapter's setup, the reader's cells above, and the
cell itself. An import from `solutions` gives what the reader wrote in earlier chapters.
"""

import contextlib
import io
import traceback
from collections.abc import Iterator
from typing import Any

from check.allowed_imports import is_allowed
from check.calling import suggestion
from check.checking import NoPyTorch, checked
from check.magics import without_magics
from check.messages import for_report
from check.words import not_installed

from .own_solutions import Namespace, Reader, compiled, file_of, runs, solutions_by

LONGEST = 10_000  # characters: an endless print must not fill the page


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a cell, check what it defines, and return plain values.

    A job has "name", the exercise; "cells", a list of (name, source) of the page's exercises down to this one; "setup",
    a source; "earlier" and "helpers", as a Reader takes them.

    The answer has "passed"; "html", "headline" and "diagnosis" of the feedback, and "report", what a report says about
    it without the reader's code, "" if there is none; "out", the printed text; "skipped", the notebook commands in the
    cell; "error", the part of a traceback that shows the reader's code; "line", the line of the cell in which an
    exception was raised, or None; "broken", the names of the cells above that raise an exception; "waits", the names of
    the functions that the exercise called and the reader has not written.
    """
    *above, (name, text) = job["cells"]
    source, skipped = without_magics(text)
    namespace: Namespace = {"__name__": "__main__"}
    answer: dict[str, Any] = {"passed": False, "line": None, "skipped": list(skipped), "broken": []}
    answer |= dict.fromkeys(("html", "headline", "diagnosis", "report", "error"), "")
    reader = Reader(job["earlier"], job["helpers"])
    with solutions_by(reader), captured_output() as out:
        exec(compiled("setup", job["setup"]), namespace)
        for other, text in above:
            if not runs(other, without_magics(text)[0], namespace):
                answer["broken"].append(other)
                namespace.pop(other, None)
        out.clear()
        try:
            exec(compiled(name, source), namespace)
            answer |= _feedback(name, namespace)
        except NoPyTorch as missing:
            answer["error"] = str(missing)
        except BaseException as error:  # the reader's code may raise SystemExit or KeyboardInterrupt
            answer |= {"error": own_traceback(error), "line": error_line(error, name)}
    waits = [] if answer["passed"] else list(dict.fromkeys(reader.waits_for))
    return answer | {"out": out.text(), "line": None if waits else answer["line"], "waits": waits}


def _feedback(name: str, namespace: Namespace) -> dict[str, Any]:
    """Check the exercise that a cell defined. Return the entries of `run`'s answer that change."""
    if name not in namespace:
        return {"error": f"This cell does not define {name}."}
    if getattr(namespace[name], "__module__", "").startswith("solutions."):
        return {"error": f"This {name} is the book's own. Write yours: the exercise passes with that."}
    feedback = checked(namespace[name])
    if feedback.result.function != name:
        return {"error": f"{name} is another name for {feedback.result.function}: write it with def {name}."}
    headline, diagnosis, *_ = [*feedback.text.split("\n"), ""]
    file, line = feedback.place
    in_cell = line if file == file_of(name) else None
    return {
        "passed": feedback.result.passed,
        "html": feedback.html,
        "headline": headline,
        "diagnosis": diagnosis,
        "report": "" if feedback.result.passed else for_report(feedback.result),
        "line": in_cell,
    }


class _Bounded(io.TextIOBase):
    """A stream that keeps the first characters and counts the rest."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.parts: list[str] = []
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.size < LONGEST:
            self.parts.append(text[: LONGEST - self.size])
        self.size += len(text)
        return len(text)

    def text(self) -> str:
        more = self.size - LONGEST
        return "".join(self.parts) + (f"\n… and {more:,} characters more" if more > 0 else "")


@contextlib.contextmanager
def captured_output() -> Iterator[_Bounded]:
    """Redirect what code prints into a stream."""
    out = _Bounded()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield out


def own_traceback(error: BaseException) -> str:
    """Return a traceback without the frames outside the reader's cells."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("<cell ")]
    lines = [f"line {frame.lineno}: {frame.line}\n" if frame.line else f"line {frame.lineno}\n" for frame in frames]
    message = traceback.format_exception_only(error)
    if "Did you mean" not in message[-1]:  # newer versions of Python suggest attributes themselves
        message[-1] = message[-1].rstrip() + suggestion(error)
    if isinstance(error, ModuleNotFoundError) and error.name and not is_allowed(error.name):
        message.append("\n" + not_installed(error.name.partition(".")[0]))
    if isinstance(error, SyntaxError):
        message = [line for line in message if not line.lstrip().startswith('File "<cell ')]
        lines = [f"line {error.lineno}:\n"] if error.lineno else []
    return "".join([*lines, *message]).rstrip()[:4000]


def error_line(error: BaseException, name: str) -> int | None:
    """Return the line of a cell that an exception comes from, or None if it does not come from that cell."""
    file = file_of(name)
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None
