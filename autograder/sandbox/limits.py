"""How much one submission may use, and what is said when the sandbox itself cannot be had."""

from dataclasses import dataclass

from autograder.errors import UserError


@dataclass(frozen=True)
class Limits:
    """The limits of one submission; seconds are wall-clock seconds, MB are 2**20 bytes.

    call_seconds, cell_seconds: for one call of a function, for one cell.
    patience: how much longer the grader waits for code that ignores its time limit, before it kills.
    start_seconds: for Python to start and NumPy to be imported.
    wall_seconds: for the whole submission, fresh starts included.
    processor_seconds: the same, of all its threads together.
    memory_mb: address space of the process; NumPy with PyTorch for the CPU fits well into the 2048.
    answers_mb: all arrays that a submission may send back, together.
    disk_mb: each of the two writable folders, the working directory and /tmp; both are in memory.
    open_files, threads: at once. files: in each of the two writable folders.
    questions: values of other exercises that are answered in one run.
    """

    call_seconds: float = 5.0
    cell_seconds: float = 10.0
    patience: float = 1.0
    start_seconds: float = 30.0
    wall_seconds: float = 120.0
    processor_seconds: float = 120.0
    memory_mb: int = 2048
    answers_mb: int = 64
    disk_mb: int = 64
    open_files: int = 64
    threads: int = 16
    files: int = 10_000
    questions: int = 10_000


class SandboxUnavailable(UserError):
    """No sandbox, or one that keeps less than it promises; the message says what to do about it."""
