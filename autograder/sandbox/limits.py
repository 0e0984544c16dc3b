"""The limits of one submission, and the errors for a sandbox that cannot be used."""

from dataclasses import dataclass

from autograder.errors import UserError


@dataclass(frozen=True)
class Limits:
    """The limits of one submission. MB are 2**20 bytes.

    Student code is limited by its processor time, summed over all threads, because a busy machine must not cost points.
    The wall clock stops only code that waits, and a submission that it stopped is graded again before that counts.

    call_seconds, cell_seconds: processor time for one function call, and for one cell.
    own_cells_seconds: what the students' own cells share; each gets half of what the earlier ones have left of it, but
        at least a fifth of `cell_seconds` and at most all.
    patience: processor time that code may use beyond its limit before the grader kills the process.
    wall_factor: how many times `call_seconds` or `cell_seconds` a call or a cell may take by the wall clock.
    start_seconds: time by the wall clock for Python to start and to import NumPy, and time for the reference to load.
    wall_seconds: time by the wall clock for the whole submission, with its second runs and the start of new processes.
    processor_seconds: processor time for the whole submission, with its second runs.
    sleep_seconds: for how long the whole submission may sleep: it uses no processor and waits for none.
    memory_mb: address space of the process; NumPy with the CPU build of PyTorch fits well into 2048.
    answers_mb: size of all arrays together that a submission may send back.
    disk_mb: size of each of the two writable folders, the working directory and /tmp; both are in memory.
    open_files, threads: how many may exist at once.
    files: how many files each of the two writable folders may hold.
    questions: how many calls of answered functions one exercise may make in a run.
    """

    call_seconds: float = 5.0
    cell_seconds: float = 10.0
    own_cells_seconds: float = 20.0
    patience: float = 1.0
    wall_factor: float = 10.0
    start_seconds: float = 60.0
    wall_seconds: float = 300.0
    processor_seconds: float = 120.0
    sleep_seconds: float = 60.0
    memory_mb: int = 2048
    answers_mb: int = 64
    disk_mb: int = 64
    open_files: int = 64
    threads: int = 4
    files: int = 10_000
    questions: int = 10_000


class MachineTooBusy(UserError):
    """The machine may have been too busy for one submission, so it is worth a retry when the others are graded."""


class SandboxUnavailable(UserError):
    """The sandbox cannot be used, or does not keep all its promises. The message says what to do."""
