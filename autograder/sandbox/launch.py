"""Start Python with two pipes for questions and replies, inside bubblewrap or (kind "none") without isolation."""

import functools
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from autograder.sandbox import bubblewrap, interpreter, seccomp
from autograder.sandbox.inside.confine import MB
from autograder.sandbox.limits import Limits
from check import bundle_data

KINDS = ("bwrap", "none")
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "MPLBACKEND": "agg",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}

# What a start returns: the process, python_pid() and kill() as in `Launched`.
Started = tuple["subprocess.Popen[bytes]", Callable[[], int], Callable[[], None]]


@dataclass
class Launched:
    """A started process.

    popen: bwrap, or Python itself. requests, replies: our ends of the pipes.
    python_pid(): process id, on this machine, of the Python that runs student code; 0 if there is none.
    kill(): kills everything that was started.
    leftovers: closes and removes what the process needed while it ran.
    """

    popen: subprocess.Popen[bytes]
    requests: int
    replies: int
    python_pid: Callable[[], int]
    kill: Callable[[], None]
    leftovers: ExitStack

    def startup_error(self) -> str:
        """Kill everything and return what a process that failed to start wrote to its standard error."""
        self.stop()
        assert self.popen.stderr is not None
        return self.popen.stderr.read(2000).decode("utf-8", "replace").strip()

    def stop(self) -> None:
        """Kill everything and wait until it is gone. A second call does nothing."""
        if self.popen.poll() is None:
            with suppress(ProcessLookupError):
                self.kill()
            self.popen.wait()

    def end(self) -> None:
        """Stop, then close and remove the leftovers."""
        self.stop()
        self.leftovers.close()


def launch(bundle: Path, limits: Limits, kind: str, distributions: tuple[str, ...]) -> Launched:
    """Start one process of a kind in KINDS that can import some distributions.

    Raises ValueError for another kind, SandboxUnavailable if bubblewrap is missing.
    """
    if kind not in KINDS:
        raise ValueError(f"the kind of sandbox must be {' or '.join(KINDS)}, not {kind}")
    with ExitStack() as until_started, ExitStack() as until_ended:
        child_requests, requests = os.pipe()
        replies, child_replies = os.pipe()
        _close_with(until_started, child_requests, child_replies)
        _close_with(until_ended, requests, replies)
        for descriptor in (requests, replies):
            os.set_blocking(descriptor, False)
        start = in_bubblewrap if kind == "bwrap" else _bare
        pipes = (child_requests, child_replies)
        popen, python_pid, kill = start(bundle, limits, distributions, pipes, until_started, until_ended)
        assert popen.stderr is not None
        until_ended.enter_context(popen.stderr)
        return Launched(popen, requests, replies, python_pid, kill, until_ended.pop_all())


def in_bubblewrap(
    bundle: Path,
    limits: Limits,
    distributions: tuple[str, ...],
    pipes: tuple[int, int],
    until_started: ExitStack,
    until_ended: ExitStack,
) -> Started:
    """Start Python inside bubblewrap.

    pipes: the child's ends, for requests and replies.
    until_started, until_ended: what to close when the process has started, and when it has ended.
    """
    # bwrap reports to a file in memory, not to a pipe: if the reader of a pipe were killed, bwrap would die of it and
    # leave behind the process it had just started.
    information = _memory_file(b"", until_ended)
    environment = {
        **ENVIRONMENT,
        "HOME": str(bubblewrap.WORK),
        bundle_data.FOLDER: str(bubblewrap.BUNDLE / "check"),
    }
    # The options go through a descriptor, because /proc would show arguments, and our paths in them, to student code.
    options = "\0".join(bubblewrap.arguments(bundle, limits, environment, distributions))
    arguments = _memory_file(options.encode(), until_started)
    rules = _memory_file(seccomp.program(), until_started)
    python = _python_command(
        bubblewrap.RUNNER,
        bubblewrap.BUNDLE,
        [str(bubblewrap.PACKAGES)],
        limits,
        distributions,
        pipes,
        seccomp.closing(),
    )
    bwrap = ("bwrap", "--args", str(arguments), "--seccomp", str(rules), "--info-fd", str(information), "--")
    descriptors = (*pipes, arguments, rules, information)
    popen = start_process(str(bubblewrap.find()), [*bwrap, *python], {}, "/", descriptors)

    @functools.cache
    def first_pid() -> int:
        match = re.search(rb'"child-pid": (\d+)', _bwrap_report(information, popen))
        return int(match[1]) if match else 0

    def python_pid() -> int:
        with suppress(OSError, IndexError):
            return int(Path(f"/proc/{first_pid()}/task/{first_pid()}/children").read_text("ascii").split()[0])
        return 0

    def kill() -> None:
        # With the first process of the namespace the kernel kills all others, and bwrap ends after it. If we killed
        # only bwrap before the kernel has tied the two together, the first process would live on.
        if first_pid():
            os.kill(first_pid(), signal.SIGKILL)
        else:
            popen.kill()

    return popen, python_pid, kill


def _bare(
    bundle: Path,
    limits: Limits,
    distributions: tuple[str, ...],
    pipes: tuple[int, int],
    until_started: ExitStack,
    until_ended: ExitStack,
) -> Started:
    """Start Python without isolation, in a temporary folder of its own."""
    folder = until_ended.enter_context(tempfile.TemporaryDirectory(prefix="autograder-", ignore_cleanup_errors=True))
    runner = Path(folder, "runner")
    runner.mkdir()
    for name, package in bubblewrap.RUNNER_PACKAGES.items():
        (runner / name).symlink_to(package)
    packages = [str(path) for path in interpreter.package_folders()]
    command = _python_command(runner, bundle.resolve(), packages, limits, distributions, pipes)
    environment = {**ENVIRONMENT, "HOME": folder, bundle_data.FOLDER: str(bundle.resolve() / "check")}
    popen = start_process(command[0], command, environment, folder, pipes)
    return popen, lambda: popen.pid, lambda: os.killpg(popen.pid, signal.SIGKILL)


def _python_command(
    runner: Path,
    bundle: Path,
    packages: list[str],
    limits: Limits,
    distributions: tuple[str, ...],
    pipes: tuple[int, int],
    closing: bytes = b"",
) -> list[str]:
    """Return the command that runs `inside.child`, with its settings as JSON. Paths are those that it will see."""
    settings = {
        "requests": pipes[0],
        "replies": pipes[1],
        "bundle": str(bundle),
        "distributions": distributions,
        "answer_bytes": limits.answers_mb * MB,
        "limits": {
            "memory_mb": limits.memory_mb,
            "processor_seconds": limits.processor_seconds,
            "disk_mb": limits.disk_mb,
            "open_files": limits.open_files,
            "threads": limits.threads,
            "closing": closing.hex(),
        },
    }
    # -I and -S: no environment variables, no packages of the user or of site, no .pth files that add other folders.
    options = ("-I", "-S", "-B", "-X", "utf8")
    folders = [*packages, str(runner)]
    start = f"import sys; sys.path[:0] = {folders}; from inside.child import main; main()"
    return [str(interpreter.executable()), *options, "-c", start, json.dumps(settings)]


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


def _memory_file(data: bytes, stack: ExitStack) -> int:
    """Return the descriptor of a file in memory that holds `data`; the stack closes it."""
    descriptor = os.memfd_create("for bubblewrap")
    _close_with(stack, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _bwrap_report(information: int, popen: subprocess.Popen[bytes]) -> bytes:
    """Return what bwrap reports about the process it started; wait for it up to 5 seconds while bwrap lives."""
    deadline = time.monotonic() + 5
    while True:
        report = os.pread(information, 4096, 0)
        if b"}" in report or popen.poll() is not None or time.monotonic() >= deadline:
            return report
        time.sleep(0.001)


def _close_with(stack: ExitStack, *descriptors: int) -> None:
    for descriptor in descriptors:
        stack.callback(os.close, descriptor)
