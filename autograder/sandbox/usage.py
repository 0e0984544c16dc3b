"""Measure from outside what a sandboxed process uses, where the kernel sets no limit.

The kernel does not limit threads if root launches the sandbox. It does not limit empty files, which take kernel memory
but no disk space. And it limits the processor time of each process, but a submission may need several processes.
"""

import os
import time
from contextlib import suppress
from dataclasses import dataclass

from autograder.sandbox.bubblewrap import TEMPORARY, WORK
from autograder.sandbox.limits import Limits

# Linux has clocks for each process. The id of a clock encodes the process id and the kind of clock.
_SCHEDULED = 2


def exceeded_limit(pid: int, limits: Limits) -> str:
    """Return in plain words which limit the student's process exceeds; "" if none, or if the process is gone."""
    with suppress(OSError):
        process = f"/proc/{pid}"
        if os.stat(f"{process}/task").st_nlink - 2 > limits.threads:
            return f"started more than {limits.threads} threads"
        folders = [os.statvfs(f"{process}/root{folder}") for folder in (WORK, TEMPORARY)]
        if any(folder.f_files - folder.f_ffree > limits.files for folder in folders):
            return f"made more than {limits.files} files"
    return ""


def processor_seconds(pid: int) -> float:
    """Return the processor seconds of all threads of the student's process; 0 if the process is gone.

    pid: id of the process; 0 if there is none.
    """
    with suppress(OSError):
        if pid:  # with 0 the clock would be our own
            return time.clock_gettime(~pid << 3 | _SCHEDULED)
    return 0.0


@dataclass(frozen=True)
class Activity:
    """The threads of a process at one moment.

    threads: their ids. all_sleep: whether each thread waits for an event, so that it neither runs nor is ready to run.
    seconds: the sum of the times that they have run or waited for a processor.
    """

    threads: frozenset[str]
    all_sleep: bool
    seconds: float


def activity(pid: int) -> Activity | None:
    """Return the activity of the student's process; None if the kernel does not measure it or the process is gone."""
    with suppress(OSError, IndexError, ValueError):
        states, nanoseconds = [], 0
        threads = frozenset(os.listdir(f"/proc/{pid}/task"))
        for thread in threads:
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as status:
                states.append(status.read().rpartition(")")[2].split()[0])
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="utf-8") as times:
                ran, waited, _ = map(int, times.read().split())
            nanoseconds += ran + waited
        if nanoseconds:  # 0 if the kernel does not measure it
            return Activity(threads, set(states) == {"S"}, nanoseconds / 1e9)
    return None


def asleep(before: Activity | None, after: Activity | None, seconds: float) -> float:
    """Return how many of these seconds a process certainly slept.

    The result is 0 unless the same threads sleep at both moments. A thread that waits for a processor or a disk does
    not sleep, however long a busy machine makes it wait.
    """
    if not before or not after or before.threads != after.threads or not (before.all_sleep and after.all_sleep):
        return 0.0
    return max(0.0, seconds - (after.seconds - before.seconds))
