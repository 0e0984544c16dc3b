"""A given cell that cannot run before an exercise is solved says so in one line, in place of a traceback."""

import linecache
from collections.abc import Iterable
from traceback import walk_tb
from types import TracebackType
from typing import Any

from check.blank import is_blank
from check.bundle_data import fingerprint, notebooks
from check.checking import passes, public_key
from check.showing import note, shell, show

# What may come of a missing or wrong value. IPython has ways of its own to show what is wrong with a cell's syntax.
CONSEQUENCES = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


def explain_waiting_cells() -> None:
    """From now on, show that sentence; only in a notebook that lies in an unzipped bundle."""
    if shell() and notebooks():
        shell().set_custom_exc(CONSEQUENCES, _show)


def _show(shell: Any, kind: type, error: Exception, trace: TracebackType, tb_offset: int | None = None) -> None:
    sentence = what_it_waits_for(error, shell.user_ns)
    if sentence:
        show(note(sentence))
    else:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def what_it_waits_for(error: Exception, space: dict[str, Any]) -> str:
    """Why a cell could not run, if it is for an exercise that is still to be solved; else "".

    Args:
        error: what the cell raised.
        space: the notebook's names.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_globals is space]
    if not frames:
        return ""
    if isinstance(error, NotImplementedError) and not error.args:  # a stub, called by whatever cell
        return waiting(frames[-1].f_code.co_qualname.partition(".")[0], "is not written yet")
    cell = fingerprint("".join(linecache.getlines(frames[0].f_code.co_filename)))
    rests = (name for notebook in notebooks().values() for name in notebook.rests_on.get(cell, ()))
    return first_unsolved(rests, space)


def first_unsolved(names: Iterable[str], space: dict[str, Any]) -> str:
    """Which of the exercises that a cell rests on is still to be solved, and why it is not; "" if none is.

    Args:
        names: of exercises.
        space: the names that the cell finds.
    """
    for name in names:
        function = space.get(name)
        if is_blank(function):
            return waiting(name, "is not written yet")
        if not callable(function) or not passes(function, public_key(name)):
            return waiting(name, "does not pass its check yet")
    return ""


def waiting(name: str, why: str) -> str:
    """The one line."""
    return f"This cell waits for `{name}`, which {why}."
