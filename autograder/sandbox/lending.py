"""Lend the warm sandboxes of a command to the processes that grade for it. So all share one set, and its memory."""

import os
import socket
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import NamedTuple

from autograder.sandbox.fork import Zygote
from autograder.sandbox.limits import Limits, MachineTooBusy, SandboxUnavailable
from autograder.sandbox.warm import FORKS, sandboxes

# How many forks a borrower may ask for before it must ask for the zygote again.
LOAN = 50


class Wanted(NamedTuple):
    """A borrower's message: the arguments of `WarmSandboxes.zygote`."""

    bundle: Path
    limits: Limits
    distributions: tuple[str, ...]


def borrow_through(connection: Connection) -> None:
    """From now on, borrow all warm sandboxes of this process from the process at the other end."""
    sandboxes.prove()  # it is not for this process to decide that the machine does not allow them
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
    """Return a copy of a zygote's descriptor; None if this process does without warm sandboxes."""
    while zygote := sandboxes.zygote(*wanted):
        zygote.forks += LOAN
        with suppress(OSError):  # another thread has just retired it
            return os.dup(zygote.fileno())
    return None


def _borrow(connection: Connection, bundle: Path, limits: Limits, distributions: tuple[str, ...]) -> Zygote | None:
    connection.send(Wanted(bundle, limits, distributions))
    answer = connection.recv()
    if isinstance(answer, Exception):
        raise answer
    if not answer:
        return None
    zygote = Zygote(socket.socket(fileno=recv_handle(connection)))
    zygote.forks = FORKS - LOAN
    return zygote
