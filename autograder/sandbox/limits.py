"""The limits of one submission, and the errors for a sandbox that cannot be used."""

from dataclasses import dataclass

from autograder.errors import UserError


@dataclass(frozen=True)
class Limits:
    """The limits of one submission. MB are 2**20 bytes.

    We limit the processor time of student code, summed over all threads, because a busy machine must not cost points.
    The wall clock stops only code that waits. Before such a stop counts, the submission is graded again.

    call_seconds, cell_seconds: processor time for one function call, and for one cell.
    own_cells_seconds: processor time that the cells added by the student share. Each gets half of the time that is
        left, but at least a fifth of `cell_seconds` and at most all of it.
    answer_seconds: processor time of the grader for the questions of one call, such as calls of functions under test.
        It does not count as the student's time, because a test must not fail if a right function is slow.
    patience: processor time beyond the limit after which the grader kills the process.
    wall_factor: how many times `call_seconds` or `cell_seconds` a call or a cell may take by the wall clock.
    start_seconds: time by the wall clock to start Python and import NumPy, and time to load the reference.
    wall_seconds: time by the wall clock for the whole submission, with its second runs and the start of new processes.
    processor_seconds: processor time for the whole submission, with its second runs.
    sleep_seconds: how long the whole submission may sleep, which means that it neither uses nor awaits a processor.
    memory_mb: address space of the process; NumPy with the CPU build of PyTorch fits well into 2048.
    answers_mb: size of all arrays together that a submission may send back.
    disk_mb: size of each of the two writable folders, the working directory and /tmp; both are in memory.
    open_files, threads: the most that may exist at once.
    files: the most files in each of the two writable folders.
    answered_calls: the most calls of answered functions that one exercise may make in a run.
    """

    call_seconds: float = 5.0
    cell_seconds: float = 10.0
    own_cells_seconds: float = 20.0
    answer_seconds: float = 20.0
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
    answered_calls: int = 10_000


class MachineTooBusy(UserError):
    """The machine may have been too busy for a submission. Try again after the others have been graded."""


class SandboxUnavailable(UserError):
    """The sandbox cannot be used, or breaks one of its promises. The message says what to do."""
