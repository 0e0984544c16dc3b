"""Code that all ways of starting a sandboxed process share."""

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

from autograder.sandbox import interpreter
from autograder.sandbox.inside.confine import MB
from autograder.sandbox.limits import Limits
from check import GRADING

ENVIRONMENT = {
    GRADING: "1",
    "LANG": "C.UTF-8",
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
# -I and -S: no environment variables, no packages of the user or of site, no .pth files, which add other folders.
_PYTHON_OPTIONS = ("-I", "-S", "-B", "-X", "utf8")


class SandboxLost(Exception):
    """A sandbox ended, but not because of the code in it: its warm parent has died."""


class Program(Protocol):
    """A started process, with the methods of `subprocess.Popen` that Launched needs."""

    def poll(self) -> int | None:
        """Return the exit status, -N after signal N, or None while the process runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status. Raises subprocess.TimeoutExpired, SandboxLost."""


class Started(NamedTuple):
    """A started process.

    program: bwrap, Python itself, or a fork of a warm parent.
    python_pid(): process id, on this machine, of the Python that runs student code; 0 if there is none.
    kill(): kills everything that was started.
    error(): the message of a process that failed to start. Call it after its end.
    """

    program: Program
    python_pid: Callable[[], int]
    kill: Callable[[], None]
    error: Callable[[], str]


def run_settings(limits: Limits, closing: bytes = b"") -> dict[str, Any]:
    """Return the limits for the process inside. closing: the system call filter."""
    return {
        "answer_bytes": limits.answers_mb * MB,
        "disk_bytes": limits.disk_mb * MB,
        "limits": {
            "memory_mb": limits.memory_mb,
            "processor_seconds": limits.processor_seconds,
            "disk_mb": limits.disk_mb,
            "open_files": limits.open_files,
            "threads": limits.threads,
            "closing": closing.hex(),
        },
    }


def python_command(module: str, folders: list[str], settings: dict[str, Any]) -> list[str]:
    """Return the command that runs `main` of a module of `inside`, with its settings as JSON.

    folders: where this module and others are, as the sandbox names them.
    """
    start = f"import sys; sys.path[:0] = {folders}; from inside.{module} import main; main()"
    return [str(interpreter.executable()), *_PYTHON_OPTIONS, "-c", start, json.dumps(settings)]


def start_process(
    program: str, command: list[str], environment: dict[str, str], folder: str, descriptors: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own; it inherits the descriptors, and its standard error is a pipe."""
    return subprocess.Popen(
        command,
        executable=program,
        env=environment,
        cwd=folder,
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def read_error(popen: subprocess.Popen[bytes]) -> str:
    """Return the standard error of a process that has ended."""
    assert popen.stderr is not None
    return popen.stderr.read(2000).decode("utf-8", "replace").strip()


def only_child(pid: int) -> int:
    """Return the process id of the child of a process, or 0 if it has none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return int(children.read().split()[0])
    except (OSError, IndexError):
        return 0


def memory_file(data: bytes, stack: ExitStack) -> int:
    """Return the descriptor of a file in memory that holds `data`; the stack closes it."""
    descriptor = os.memfd_create("for bubblewrap")
    close_with(stack, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def close_with(stack: ExitStack, *descriptors: int) -> None:
    """Let a stack close some descriptors."""
    for descriptor in descriptors:
        stack.callback(os.close, descriptor)
