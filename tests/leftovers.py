"""List what a sandbox might leave behind in this process."""

import os
import threading
from contextlib import suppress
from pathlib import Path

from autograder.sandbox.starting import only_child
from autograder.sandbox.warm import sandboxes
from autograder.sandbox.zygote import RETIRED
from tests.patience import SECONDS


def open_resources() -> set[str]:
    """Return this process's children, pipes and the like, but not its files, since a cluster in it may open some.

    Nor are the warm sandboxes among them, which stay open, but their forks are. One that has just been retired ends a
    little later, so this waits for it, and fails if a process that an earlier test left behind keeps it open.
    """
    for thread in threading.enumerate():
        if thread.name == RETIRED:
            thread.join(SECONDS)
            assert not thread.is_alive(), "a process that borrowed a warm sandbox has not ended"
    warm = list(sandboxes)
    resources = _children(os.getpid()) - {str(zygote.bwrap.popen.pid) for zygote in warm}
    kept_open = {descriptor for zygote in warm for descriptor in zygote.descriptors()}
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if int(descriptor) not in kept_open:
                resources.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return forks() | {name for name in resources if not name.startswith("/") or name.startswith("/memfd")}


def forks() -> set[str]:
    """Return the process ids of all forks of this process's warm sandboxes."""
    return {pid for zygote in sandboxes for pid in _children(only_child(zygote.bwrap.first_pid))}


def _children(pid: int) -> set[str]:
    with suppress(OSError):
        return set(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())
    return set()
