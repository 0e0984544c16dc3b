"""Measure from outside what a sandboxed process uses, where the kernel sets no limit.

If root launches the sandbox, the kernel does not limit threads. Empty files take no disk space, only kernel memory.
The kernel limits processor time per process, but a submission may need several processes.
"""

import os
from contextlib import suppress

from autograder.sandbox.bubblewrap import TEMPORARY, WORK
from autograder.sandbox.limits import Limits


def exceeded_limit(pid: int, limits: Limits) -> str:
    """Return which limit the student's process exceeds, in plain words; "" if none, or if the process is gone."""
    with suppress(OSError):
        process = f"/proc/{pid}"
        if os.stat(f"{process}/task").st_nlink - 2 > limits.threads:
            return f"started more than {limits.threads} threads"
        folders = [os.statvfs(f"{process}/root{folder}") for folder in (WORK, TEMPORARY)]
        if any(folder.f_files - folder.f_ffree > limits.files for folder in folders):
            return f"made more than {limits.files} files"
    return ""


def processor_seconds(pid: int) -> float:
    """Return the processor time of all threads of the student's process, in seconds; 0 if the process is gone."""
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", encoding="utf-8") as status:
        # The second field, the process's name, may hold spaces and brackets: count from the last bracket.
        user, system = status.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return 0.0
