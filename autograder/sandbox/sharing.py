"""Lend the warm parents of a command to the processes that grade for it, so that all share one set and its memory."""

import os
import socket
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import NamedTuple

from autograder.sandbox.fork import WarmParent
from autograder.sandbox.limits import Limits, MachineTooBusy, SandboxUnavailable
from autograder.sandbox.warm import FORKS, sandboxes

# The number of forks that a borrower may ask for before it has to borrow the warm parent again.
LOAN = 50


class Wanted(NamedTuple):
    """A borrower's message: the arguments of `WarmSandboxes.parent`."""

    bundle: Path
    limits: Limits
    distributions: tuple[str, ...]


def borrow_through(connection: Connection) -> None:
    """From now on, borrow all warm parents of this process from the process at the other end."""
    sandboxes.prove()  # the lender decides whether the machine allows warm sandboxes, not this process
    sandboxes.start = partial(_borrow, connection)


def lend(connection: Connection, pid: int | None, wanted: Wanted) -> None:
    """Answer a borrower. pid: its process id. Raises OSError if it has died."""
    try:
        descriptor = _copy(wanted)
    except (SandboxUnavailable, MachineTooBusy) as error:
        connection.send(error)
        return
    connection.send(descriptor is not None)
    if descriptor is not None:
        try:
            send_handle(connection, descriptor, pid)
        finally:
            os.close(descriptor)


def _copy(wanted: Wanted) -> int | None:
    """Return a copy of a warm parent's descriptor; None if this process does without warm sandboxes."""
    while parent := sandboxes.parent(*wanted):
        parent.forks += LOAN
        with suppress(OSError):  # another thread has just retired it
            return os.dup(parent.fileno())
    return None


def _borrow(connection: Connection, bundle: Path, limits: Limits, distributions: tuple[str, ...]) -> WarmParent | None:
    connection.send(Wanted(bundle, limits, distributions))
    answer = connection.recv()
    if isinstance(answer, Exception):
        raise answer
    if not answer:
        return None
    parent = WarmParent(socket.socket(fileno=recv_handle(connection)))
    parent.forks = FORKS - LOAN
    return parent
