"""Measure from outside what a sandboxed process uses, where the kernel sets no limit.

If root launches the sandbox, the kernel does not limit threads. Empty files take no disk space, only kernel memory.
The kernel limits processor time per process, but a submission may need several processes.
"""

import os
from contextlib import suppress

from autograder.sandbox.bubblewrap import TEMPORARY, WORK
from autograder.sandbox.limits import Limits


def exceeded_limit(first_pid: int, limits: Limits) -> str:
    """Return which limit the student's process exceeds, in plain words; "" if none, or if the process is gone.

    first_pid: process id, on this machine, of the sandbox's first process. The student's process is its child.
    """
    with suppress(OSError, IndexError):
        process = _student_process(first_pid)
        if os.stat(f"{process}/task").st_nlink - 2 > limits.threads:
            return f"started more than {limits.threads} threads"
        folders = [os.statvfs(f"{process}/root{folder}") for folder in (WORK, TEMPORARY)]
        if any(folder.f_files - folder.f_ffree > limits.files for folder in folders):
            return f"made more than {limits.files} files"
    return ""


def processor_seconds(first_pid: int) -> float:
    """Return the processor time of all threads of the student's process, in seconds; 0 if the process is gone."""
    with suppress(OSError, IndexError), open(f"{_student_process(first_pid)}/stat", encoding="utf-8") as status:
        # The second field, the process's name, may hold spaces and brackets: count from the last bracket.
        user, system = status.read().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _student_process(first_pid: int) -> str:
    """Return the folder in /proc of the first process's child."""
    with open(f"/proc/{first_pid}/task/{first_pid}/children", encoding="ascii") as children:
        return f"/proc/{children.read().split()[0]}"
