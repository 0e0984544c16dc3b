"""What runs in the worker when a reader tries a cell of the book: the cell, beneath what stands above it.

The cells above run as the book has them or as the reader changed them, exercises as the reader wrote them. What they
come to is kept, so that a cell that is changed and run again and again does not run all of them each time.
"""

import ast
import copy
import json
import sys
import types

from check.waiting_cells import first_unsolved, waiting

from .exercise_run import own_part, printed
from .own_solutions import NotSolvedYet, Reader, compiled, solutions_by
from .slicing import sliced, statements

LONGEST_VALUE = 10_000  # characters
OF_THE_READER = "A figure that your code drew."  # where the book gives no text for it


def draws(job):
    """Whether matplotlib has to be there before `run(job)`."""
    return _plan(job["cells"])[1]


def run(job):
    """Run a cell.

    Args:
        job: dict with "cells", a list of (name, source): what stands above, and the cell itself; "rests", names of the
            page's exercises that it rests on; "given" and "earlier", as a Reader takes them.

    Returns:
        dict of plain values: "out", what was printed; "html" and "value", of the last expression, "" if it has none;
        "error", the reader's own part of a traceback; "waits", in one line, for which exercise the cell waits if it is
        for one that it cannot run; "broken", names of the cells above that do not run to their end.
    """
    answer = {"out": "", "html": "", "value": "", "error": "", "waits": ""}
    name, source = job["cells"][-1]
    with solutions_by(Reader(job["earlier"], job["given"])), printed() as out:
        above.come_to(job, _plan(job["cells"])[0])
        out.forget()
        space = above.space
        try:
            answer |= _shown(_value(name, source, space))
        except NotSolvedYet as missing:
            answer["waits"] = str(missing)
        except BaseException as error:  # also the SystemExit and the KeyboardInterrupt of the reader's code
            answer["waits"] = _waits(error, job, space)
            answer["error"] = "" if answer["waits"] else own_part(error)
    return answer | {"broken": above.broken, "out": out.text()}


def _plan(cells):
    """For each cell above the last, the statements that have to run, None if it cannot be read; and whether they draw.

    The last cell draws also if it cannot be read: then it does not matter.
    """
    read = [_read(source) for _, source in cells]
    left, drawing = sliced([each or [] for each in read[:-1]], read[-1] or [], "matplotlib" in sys.modules)
    return [kept if each is not None else None for kept, each in zip(left, read[:-1], strict=True)], drawing


def _read(source):
    try:
        return statements(source)
    except (SyntaxError, ValueError):  # a null character
        return None


class Above:
    """The names that the cells above have left, and a copy for the next run of the same cell, or of a later one.

    There is one namespace, since a function knows the one that it was defined in; its names are put back.
    """

    def __init__(self):
        self.space, self.broken = {}, []
        self.forget()

    def forget(self):
        self.reader, self.done, self.kept = None, [], {"__name__": "__main__"}

    def come_to(self, job, plan):
        """Run what stands above, or put back what it came to.

        plan: for each cell above, the statements that have to run, or None if it cannot be read.
        """
        reader = json.dumps([job["earlier"], job["given"]])
        cells = [
            (name, source, each and [statement.tree.lineno for statement in each])
            for (name, source), each in zip(job["cells"][:-1], plan, strict=True)
        ]
        if reader != self.reader or cells[: len(self.done)] != self.done:
            self.forget()
            self.broken = []
        self.space.clear()
        self.space |= self.kept
        for (name, source, _), each in list(zip(cells, plan, strict=True))[len(self.done) :]:
            if each is None or not _runs(name, source, each, self.space):
                self.broken.append(name)
        try:
            self.reader, self.done, self.kept = reader, cells, _copied(self.space)
        except Exception:  # a generator, an open file: all of it runs again
            self.forget()


above = Above()


def _copied(names):
    """A deep copy, but for modules; functions and classes are what they were."""
    modules = {id(value): value for value in names.values() if isinstance(value, types.ModuleType)}
    return copy.deepcopy(dict(names), modules)


def _runs(name, source, kept, space):
    """Run the statements of a cell that are kept; whether it came to its end. An exercise is there whole or not."""
    try:
        compiled(name, source)  # for the lines of a traceback
        exec(compile(ast.Module([each.tree for each in kept], []), f"<cell {name}>", "exec"), space)
    except BaseException:  # also the SystemExit of a reader's code
        space.pop(name, None)
        return False
    return True


def _value(name, source, space):
    """Run a cell; the value of its last expression, None if there is none."""
    whole = compiled(name, source)
    *body, last = ast.parse(source, f"<cell {name}>").body or [ast.Pass()]
    if not isinstance(last, ast.Expr) or source.rstrip().endswith(";"):
        exec(whole, space)
        return None
    exec(compile(ast.Module(body, []), f"<cell {name}>", "exec"), space)
    return eval(compile(ast.Expression(last.value), f"<cell {name}>", "eval"), space)


def _shown(value):
    """The last value, and the figures that were drawn without the book's own functions."""
    figures = [value] if _is_figure(value) else []
    if "matplotlib.pyplot" in sys.modules:
        from matplotlib import pyplot

        figures += [figure for number in pyplot.get_fignums() if (figure := pyplot.figure(number)) is not value]
        pyplot.close("all")
    html = _html(value) if value is not None else ""
    text = "" if html or value is None or figures else repr(value)[:LONGEST_VALUE]
    return {"html": html + "".join(_drawn(figure) for figure in figures), "value": text}


def _is_figure(value):
    return "matplotlib.figure" in sys.modules and isinstance(value, sys.modules["matplotlib.figure"].Figure)


def _drawn(figure):
    import figures

    return figures.show(figure, alt=OF_THE_READER).svg


def _html(value):
    made = getattr(value, "_repr_html_", None)
    return (made() or "") if made and not isinstance(value, type) and not _is_figure(value) else ""


def _waits(error, job, space):
    """For which exercise of the page a cell waits, in a sentence; "" if it fails for another reason."""
    if isinstance(error, NotImplementedError) and not error.args:  # a stub, called by whatever cell
        called = [frame.f_code.co_qualname for frame in _frames(error) if frame.f_globals is space]
        if called[-1] in dict(job["cells"]):
            return waiting(called[-1], "is not written yet")
    return first_unsolved(job["rests"], space) if isinstance(error, Exception) else ""


def _frames(error):
    trace = error.__traceback__
    while trace:
        yield trace.tb_frame
        trace = trace.tb_next
