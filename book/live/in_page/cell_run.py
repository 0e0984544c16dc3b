"""Run a cell of the book that a reader tries, beneath the cells above it, in the worker of a page.

The cells above run as the book has them or as the reader changed them, and exercises as the reader wrote them. We keep
the namespace that they leave, so that repeated runs of one cell do not run all of them again.
"""

import ast
import copy
import json
import sys
import types
from collections.abc import Iterator
from typing import Any

from check.magics import without_magics
from check.waiting_cells import first_unsolved, waiting

from .exercise_run import captured_output, error_line, own_traceback
from .own_solutions import Namespace, NotSolvedYet, Reader, compiled, file_of, solutions_by
from .slicing import Statement, sliced, statements

LONGEST_VALUE = 10_000  # characters
READER_S_FIGURE = "A figure that your code drew."  # the alternative text of a figure for which the book gives none

Plan = list[list[Statement] | None]  # for each cell above, the statements to run; None after a syntax error


def draws(job: dict[str, Any]) -> bool:
    """Return whether matplotlib has to be loaded before `run(job)`."""
    return _plan(job["cells"])[1]


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a cell, and return plain values.

    A job has "cells", a list of (name, source) of the cells above and of the cell itself; "rests", names of the page's
    exercises that the cell needs; "helpers" and "earlier", as a Reader takes them.

    The answer has "out", the printed text; "skipped", the notebook commands in the cell; "html" and "value" of
    the last expression, "" if it has none; "error", the part of a traceback that shows the reader's code; "line", the
    line of the cell in which the exception was raised, or None; "waits", a sentence that names the exercise that the
    cell needs, "" if it can run; "broken", the names of the cells above that raise an exception.
    """
    answer: dict[str, Any] = {"out": "", "html": "", "value": "", "error": "", "line": None, "waits": ""}
    answer["skipped"] = list(without_magics(job["cells"][-1][1])[1])
    job = {**job, "cells": [(name, without_magics(text)[0]) for name, text in job["cells"]]}
    name, source = job["cells"][-1]
    with solutions_by(Reader(job["earlier"], job["helpers"])), captured_output() as out:
        above.prepare(job, _plan(job["cells"])[0])
        out.clear()
        try:
            answer |= _shown(_value(name, source, above.namespace))
        except NotSolvedYet as missing:
            answer["waits"] = str(missing)
        except BaseException as error:  # the reader's code may raise SystemExit or KeyboardInterrupt
            answer["waits"] = _waits(error, job, above.namespace)
            if not answer["waits"]:
                answer |= {"error": own_traceback(error), "line": error_line(error, name)}
    return answer | {"broken": above.broken, "out": out.text()}


def _plan(cells: list[tuple[str, str]]) -> tuple[Plan, bool]:
    """Return the statements to run of each cell above the last, and whether they or the last cell draw.

    If the last cell has a syntax error, it does not run, so it does not matter what it needs.
    """
    *parsed, last = (_parsed(source) for _, source in cells)
    kept, drawing = sliced([cell or [] for cell in parsed], last or [], "matplotlib" in sys.modules)
    return [to_run if cell is not None else None for to_run, cell in zip(kept, parsed, strict=True)], drawing


def _parsed(source: str) -> list[Statement] | None:
    try:
        return statements(without_magics(source)[0])
    except (SyntaxError, ValueError):  # a null character raises ValueError
        return None


class Above:
    """The names that the cells above leave, and a copy of them for the next run of the same cell, or of a later one.

    There is one namespace, because a function keeps the one that it was defined in. We put the names back into it.
    """

    def __init__(self) -> None:
        self.namespace: Namespace = {}
        self.broken: list[str] = []
        self.forget()

    def forget(self) -> None:
        """Forget the copy, so that all cells run again."""
        self.reader = ""
        self.done: list[tuple[str, str, list[int] | None]] = []
        self.copy: Namespace = {"__name__": "__main__"}

    def prepare(self, job: dict[str, Any], plan: Plan) -> None:
        """Run the cells above, or put back the names that they left."""
        reader = json.dumps([job["earlier"], job["helpers"]])
        cells = [
            (name, source, None if to_run is None else [statement.tree.lineno for statement in to_run])
            for (name, source), to_run in zip(job["cells"][:-1], plan, strict=True)
        ]
        if reader != self.reader or cells[: len(self.done)] != self.done:
            self.forget()
            self.broken = []
        self.namespace.clear()
        self.namespace |= self.copy
        for (name, source, _), to_run in list(zip(cells, plan, strict=True))[len(self.done) :]:
            if to_run is None or not _runs(name, source, to_run, self.namespace):
                self.broken.append(name)
        try:
            self.reader, self.done, self.copy = reader, cells, _copied(self.namespace)
        except Exception:  # a generator or an open file cannot be copied, so all cells run again
            self.forget()


above = Above()


def _copied(names: Namespace) -> Namespace:
    """Return a deep copy of all values except modules. Python copies functions and classes by reference."""
    modules: dict[int, Any] = {id(value): value for value in names.values() if isinstance(value, types.ModuleType)}
    return copy.deepcopy(dict(names), modules)


def _runs(name: str, source: str, to_run: list[Statement], namespace: Namespace) -> bool:
    """Run some statements of a cell, and return whether all succeed. If not, an exercise of that name is deleted."""
    try:
        compiled(name, source)  # stores the lines of the cell for a traceback
        exec(compile(ast.Module([statement.tree for statement in to_run], []), file_of(name), "exec"), namespace)
    except BaseException:  # the reader's code may raise SystemExit
        namespace.pop(name, None)
        return False
    return True


def _value(name: str, source: str, namespace: Namespace) -> Any:
    """Run a cell, and return the value of its last expression, None if there is none."""
    whole = compiled(name, source)
    *body, last = ast.parse(source, file_of(name)).body or [ast.Pass()]
    if not isinstance(last, ast.Expr) or source.rstrip().endswith(";"):
        exec(whole, namespace)
        return None
    exec(compile(ast.Module(body, []), file_of(name), "exec"), namespace)
    return eval(compile(ast.Expression(last.value), file_of(name), "eval"), namespace)


def _shown(value: Any) -> dict[str, str]:
    """Return the "html" and "value" of the last value, and of the figures drawn without the book's own functions."""
    figures = [value] if _is_figure(value) else []
    if "matplotlib.pyplot" in sys.modules:
        from matplotlib import pyplot

        figures += [figure for number in pyplot.get_fignums() if (figure := pyplot.figure(number)) is not value]
        pyplot.close("all")
    html = _html(value) if value is not None else ""
    text = "" if html or value is None or figures else repr(value)[:LONGEST_VALUE]
    return {"html": html + "".join(_drawn(figure) for figure in figures), "value": text}


def _is_figure(value: Any) -> bool:
    return "matplotlib.figure" in sys.modules and isinstance(value, sys.modules["matplotlib.figure"].Figure)


def _drawn(figure: Any) -> str:
    import figures

    return figures.show(figure, alt=READER_S_FIGURE).svg


def _html(value: Any) -> str:
    html = getattr(value, "_repr_html_", None)
    return (html() or "") if html and not isinstance(value, type) and not _is_figure(value) else ""


def _waits(error: BaseException, job: dict[str, Any], namespace: Namespace) -> str:
    """Return a sentence on the exercise of the page that a cell needs, or "" if it fails for another reason."""
    if isinstance(error, NotImplementedError) and not error.args:  # a stub, which any of the cells may have called
        called = [frame.f_code.co_qualname for frame in _frames(error) if frame.f_globals is namespace]
        if called[-1] in dict(job["cells"]):
            return waiting(called[-1], "is not written yet")
    return first_unsolved(job["rests"], namespace) if isinstance(error, Exception) else ""


def _frames(error: BaseException) -> Iterator[types.FrameType]:
    trace = error.__traceback__
    while trace:
        yield trace.tb_frame
        trace = trace.tb_next
