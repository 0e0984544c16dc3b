"""Let a thread grade in a process of its own, because threads of one process wait for each other.

A thread starts it after a few submissions, since a small class is graded by the time that it is ready. The standard
library's processes would import the program that started them, which may be Jupyter, or a script that grades.
"""

import os
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from autograder.layout import REPO
from autograder.sandbox import MachineTooBusy, lending
from autograder.sandbox.inside.kernel import die_with_parent

DIED = "A process that graded was killed in the middle of its work. Perhaps the machine had no memory left."
# How many calls a thread computes before it starts its process.
FEW = 2
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
        mine.process.end()
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
        start = "from autograder.grading.own_process import serve; serve()"
        folders = filter(None, [str(REPO), os.environ.get("PYTHONPATH")])
        ours, its = socket.socketpair()
        self._connection = Connection(ours.detach())
        with its:
            self._popen = subprocess.Popen(
                [sys.executable, "-P", "-c", start, str(its.fileno())],
                pass_fds=[its.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # so that Ctrl-C in a terminal interrupts the command alone
            )

    def call(self, function: Callable, arguments: tuple) -> _Outcome:
        """Return the outcome of a call. Raises EOFError or OSError if the process has died."""
        self._connection.send((function, arguments))
        while isinstance(answer := self._connection.recv(), lending.Wanted):
            lending.lend(self._connection, self._popen.pid, answer)
        return answer

    def end(self) -> None:
        """Kill the process and close everything."""
        self._connection.close()
        self._popen.kill()
        self._popen.wait()


def serve() -> None:
    """Be such a process: run the calls that come through the socket, to its end."""
    die_with_parent()
    connection = Connection(int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
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
