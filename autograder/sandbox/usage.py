"""What a process has started and made, counted from outside: the kernel sets no limit to some of it.

Threads are not counted where root launches the sandbox, and files that are empty need no disk, only memory. Processor
time is counted for each process anew, and a submission may have many.
"""

import os
from contextlib import suppress

from autograder.sandbox.bubblewrap import TEMPORARY, WORK
from autograder.sandbox.limits import Limits


def overrun(first: int, limits: Limits) -> str:
    """Which limit was overrun, in plain words; empty if none was, or if the process is gone.

    first: the first process of the sandbox, as seen from here; the student's is its child.
    """
    with suppress(OSError, IndexError):
        process = _students(first)
        if os.stat(f"{process}/task").st_nlink - 2 > limits.threads:
            return f"started more than {limits.threads} threads"
        folders = [os.statvfs(f"{process}/root{folder}") for folder in (WORK, TEMPORARY)]
        if any(folder.f_files - folder.f_ffree > limits.files for folder in folders):
            return f"made more than {limits.files} files"
    return ""


def processor_seconds(first: int) -> float:
    """What the threads of the student's process have used up, together; 0 if it is gone."""
    with suppress(OSError, IndexError), open(f"{_students(first)}/stat", encoding="utf-8") as status:
        user, system = status.read().rpartition(")")[2].split()[11:13]  # its name may hold spaces, and brackets
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _students(first):
    """The folder in /proc of the first process's child."""
    with open(f"/proc/{first}/task/{first}/children", encoding="ascii") as children:
        return f"/proc/{children.read().split()[0]}"
