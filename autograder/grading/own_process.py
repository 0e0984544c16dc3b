"""Let a thread grade in a process of its own, because threads of one process wait for each other.

The process is a fork of a server, which the standard library starts and which has imported what grading needs. A thread
starts it after a few submissions, since a small class is graded by the time that it is ready.
"""

import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from autograder.sandbox import MachineTooBusy, lending
from autograder.sandbox.inside.kernel import die_with_parent

DIED = "A process that graded was killed in the middle of its work. Perhaps the machine had no memory left."
# How many calls a thread computes before it starts its process.
FEW = 2
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["autograder.grading.grade"])
_this_thread = threading.local()


def allow_for_this_thread() -> None:
    """Let this thread have a process of its own."""
    _this_thread.calls = 0
    _this_thread.process = None


def call(function: Callable, *arguments: Any) -> Any:
    """Return the value of a call, which runs in this thread's process if it has one.

    Raises its exception, and MachineTooBusy if the process has died; then the next call starts another one.
    """
    mine = _this_thread
    if not hasattr(mine, "process"):
        return function(*arguments)
    mine.calls += 1
    if mine.calls <= FEW:
        return function(*arguments)
    mine.process = mine.process or OwnProcess()
    try:
        outcome = mine.process.call(function, arguments)
    except (EOFError, OSError):
        mine.process = None
        raise MachineTooBusy(DIED) from None
    if outcome.error:
        raise outcome.error
    return outcome.value


@dataclass(frozen=True)
class _Outcome:
    """The value of a call, or the exception that it raised."""

    value: Any = None
    error: BaseException | None = None


class OwnProcess:
    """A process that runs one call after another. It ends with the process that started it, even if that is killed."""

    def __init__(self) -> None:
        self._connection, its = _CONTEXT.Pipe()
        with its:
            self._process = _CONTEXT.Process(target=_serve, args=(its,), daemon=True)
            self._process.start()

    def call(self, function: Callable, arguments: tuple) -> _Outcome:
        """Return the outcome of a call. Raises EOFError or OSError if the process has died."""
        self._connection.send((function, arguments))
        while isinstance(answer := self._connection.recv(), lending.Wanted):
            lending.lend(self._connection, self._process.pid, answer)
        return answer


def _serve(connection: Connection) -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; this one ends anyway
    lending.borrow_through(connection)
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            return
        connection.send(_outcome(function, arguments))


def _outcome(function: Callable, arguments: tuple) -> _Outcome:
    try:
        return _Outcome(function(*arguments))
    except Exception as error:
        error.add_note(traceback.format_exc())
        return _Outcome(error=error)
