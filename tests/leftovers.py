"""List what a sandbox might leave behind in this process."""

import os
import threading
from contextlib import suppress
from pathlib import Path

from autograder.sandbox.starting import only_child
from autograder.sandbox.warm import sandboxes
from autograder.sandbox.warm_parent import RETIRED
from tests.patience import SECONDS


def open_resources() -> set[str]:
    """Return this process's children, pipes and the like, but not its files, because a cluster in it may open some.

    The warm sandboxes, which stay open, are left out, but not their forks. A sandbox that has just been retired ends a
    little later, so this waits for it, and fails if a process that an earlier test left behind keeps it open.
    """
    for thread in threading.enumerate():
        if thread.name == RETIRED:
            thread.join(SECONDS)
            assert not thread.is_alive(), "a process that borrowed a warm sandbox has not ended"
    warm = list(sandboxes)
    resources = _children(os.getpid()) - {str(parent.bwrap.popen.pid) for parent in warm}
    kept_open = {descriptor for parent in warm for descriptor in parent.descriptors()}
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if int(descriptor) not in kept_open:
                resources.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return forks() | {name for name in resources if not name.startswith("/") or name.startswith("/memfd")}


def forks() -> set[str]:
    """Return the process ids of all forks of this process's warm sandboxes."""
    return {pid for parent in sandboxes for pid in _children(only_child(parent.bwrap.first_pid))}


def _children(pid: int) -> set[str]:
    with suppress(OSError):
        return set(Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split())
    return set()
