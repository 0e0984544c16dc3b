"""Let each thread grade in a process of its own, because the threads of one process wait for one interpreter lock.

A thread starts its process only after a few submissions, because a small class is graded before such a process is
ready. We do not use `multiprocessing`, whose processes import the program that started them: it may be Jupyter or a
script that grades.
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
from autograder.sandbox import MachineTooBusy, sharing
from autograder.sandbox.inside.kernel import die_with_parent

DIED = "A process that graded was killed in the middle of its work. Perhaps the machine had no memory left."
# The number of calls that a thread computes before it starts its process.
CALLS_BEFORE_OWN_PROCESS = 2
_this_thread = threading.local()


def allow_for_this_thread() -> None:
    """Let this thread have a process of its own."""
    _this_thread.calls = 0
    _this_thread.process = None


def call(function: Callable, *arguments: Any) -> Any:
    """Return the value of a call, which runs in this thread's process if there is one.

    Raises the exception of the call, or MachineTooBusy if the process has died. The next call then starts a new one.
    """
    mine = _this_thread
    if not hasattr(mine, "process"):
        return function(*arguments)
    mine.calls += 1
    if mine.calls <= CALLS_BEFORE_OWN_PROCESS:
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
    """A process that runs one call after another. It ends with the process that started it, even after a kill."""

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
                start_new_session=True,  # so that Ctrl-C in a terminal interrupts only the command
            )

    def call(self, function: Callable, arguments: tuple) -> _Outcome:
        """Return the outcome of a call. Raises EOFError or OSError if the process has died."""
        self._connection.send((function, arguments))
        while isinstance(answer := self._connection.recv(), sharing.Wanted):
            sharing.lend(self._connection, self._popen.pid, answer)
        return answer

    def end(self) -> None:
        """Kill the process and close everything."""
        self._connection.close()
        self._popen.kill()
        self._popen.wait()


def serve() -> None:
    """Act as such a process: run the calls that come through the socket until it is closed."""
    die_with_parent()
    connection = Connection(int(sys.argv[1]))
    os.set_inheritable(connection.fileno(), False)
    sharing.borrow_through(connection)
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
