"""Tell students in one line which exercise a given cell waits for, instead of showing a traceback."""

import linecache
from collections.abc import Iterable
from traceback import walk_tb
from types import TracebackType
from typing import Any

from check.blank import is_blank
from check.bundle_data import notebooks, source_digest
from check.checking import passes, public_key
from check.showing import note, shell, show

# Exceptions that a missing or wrong value can cause, without syntax errors, which IPython shows in its own way.
CONSEQUENCES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


def explain_waiting_cells() -> None:
    """From now on, show that line for a waiting cell, if this is a notebook in an unzipped bundle."""
    if shell() and notebooks():
        shell().set_custom_exc(CONSEQUENCES, _show)


def _show(shell: Any, kind: type, error: Exception, trace: TracebackType, tb_offset: int | None = None) -> None:
    sentence = what_it_waits_for(error, shell.user_ns)
    if sentence:
        show(note(sentence))
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def what_it_waits_for(error: Exception, space: dict[str, Any]) -> str:
    """Return which exercise a failed cell waits for, or "" if it fails for another reason.

    Args:
        error: what the cell raised.
        space: the notebook's namespace.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_globals is space]
    if not frames:
        return ""
    if isinstance(error, NotImplementedError) and not error.args:  # some cell called a stub
        return waiting(frames[-1].f_code.co_qualname.partition(".")[0], "is not written yet")
    cell = source_digest("".join(linecache.getlines(frames[0].f_code.co_filename)))
    needed = (name for notebook in notebooks().values() for name in notebook.rests_on.get(cell, ()))
    return first_unsolved(needed, space)


def first_unsolved(names: Iterable[str], space: dict[str, Any]) -> str:
    """Return which of the exercises that a cell needs is not solved, and why not; "" if all are solved.

    Args:
        names: of the exercises.
        space: the cell's namespace.
    """
    for name in names:
        function = space.get(name)
        if is_blank(function):
            return waiting(name, "is not written yet")
        if not callable(function) or not passes(function, public_key(name)):
            return waiting(name, "does not pass its check yet")
    return ""


def waiting(name: str, why: str) -> str:
    """Return the line that a waiting cell shows."""
    return f"This cell waits for `{name}`, which {why}."
