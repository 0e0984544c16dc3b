"""Start Python with the two pipes it is asked through, inside bubblewrap or (kind "none") bare."""

import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
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


@dataclass
class Launched:
    """popen is bwrap, or Python itself; requests and replies are our ends of the pipes.

    first() is the first process inside, 0 where there is no inside. kill() kills everything that was started; what
    has to be closed or removed afterwards is in `leftovers`.
    """

    popen: subprocess.Popen
    requests: int
    replies: int
    first: Callable[[], int]
    kill: Callable[[], None]
    leftovers: contextlib.ExitStack

    def last_words(self) -> str:
        """What a process that failed to start said about it; everything is killed first."""
        self.stop()
        assert self.popen.stderr is not None
        return self.popen.stderr.read(2000).decode("utf-8", "replace").strip()

    def stop(self) -> None:
        """Kill, and wait until everything is gone. Safe to call again."""
        if self.popen.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.kill()
            self.popen.wait()

    def end(self) -> None:
        """Stop, then close and remove what is left."""
        self.stop()
        self.leftovers.close()


def launch(bundle: Path, limits: Limits, kind: str, distributions: tuple[str, ...]) -> Launched:
    """Start one process of a kind in KINDS, with some packages; SandboxUnavailable if there is no bubblewrap."""
    if kind not in KINDS:
        raise ValueError(f"a sandbox is of the kind {' or '.join(KINDS)}, not {kind}")
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        from_us, requests = os.pipe()
        replies, to_us = os.pipe()
        _close_with(theirs, from_us, to_us)
        _close_with(ours, requests, replies)
        for descriptor in (requests, replies):
            os.set_blocking(descriptor, False)
        start = in_bubblewrap if kind == "bwrap" else _bare
        popen, first, kill = start(bundle, limits, distributions, (from_us, to_us), theirs, ours)
        ours.enter_context(popen.stderr)
        return Launched(popen, requests, replies, first, kill, ours.pop_all())


def in_bubblewrap(bundle, limits, distributions, pipes, theirs, ours):
    # No pipe: bwrap would die of one whose reader was killed, and leave behind what it had just started.
    information = _holding(b"", ours)
    # Through a pipe, since /proc would show the arguments, and with them our paths, to the student's code.
    environment = {
        **ENVIRONMENT,
        "HOME": str(bubblewrap.WORK),
        bundle_data.FOLDER: str(bubblewrap.BUNDLE / "check"),
    }
    options = "\0".join(bubblewrap.arguments(bundle, limits, environment, distributions))
    arguments, rules = _holding(options.encode(), theirs), _holding(seccomp.program(), theirs)
    command = [
        *("bwrap", "--args", str(arguments), "--seccomp", str(rules), "--info-fd", str(information), "--"),
        *_python(
            bubblewrap.RUNNER,
            bubblewrap.BUNDLE,
            [str(bubblewrap.PACKAGES)],
            limits,
            distributions,
            pipes,
            seccomp.closing(),
        ),
    ]
    popen = start_process(bubblewrap.find(), command, {}, "/", (*pipes, arguments, rules, information))

    @functools.cache
    def first():
        found = re.search(rb'"child-pid": (\d+)', _read_soon(information, popen))
        return int(found[1]) if found else 0

    def kill():
        # The first process of the namespace: with it the kernel kills all others, and bwrap follows. To kill
        # bwrap alone, before the two are bound to each other's life, would leave them behind.
        if first():
            os.kill(first(), signal.SIGKILL)
        else:
            popen.kill()

    return popen, first, kill


def _bare(bundle, limits, distributions, pipes, theirs, ours):
    folder = ours.enter_context(tempfile.TemporaryDirectory(prefix="autograder-", ignore_cleanup_errors=True))
    runner = Path(folder, "runner")
    runner.mkdir()
    for name, package in bubblewrap.OURS.items():
        (runner / name).symlink_to(package)
    packages = [str(path) for path in interpreter.packages()]
    command = _python(runner, bundle.resolve(), packages, limits, distributions, pipes)
    environment = {**ENVIRONMENT, "HOME": folder, bundle_data.FOLDER: str(bundle.resolve() / "check")}
    popen = start_process(command[0], command, environment, folder, pipes)
    return popen, lambda: 0, lambda: os.killpg(popen.pid, signal.SIGKILL)


def _python(runner, bundle, packages, limits, distributions, pipes, closing=b""):
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
    # -I and -S: no environment variables, no user's or site's packages, no .pth files that lead elsewhere.
    options = ("-I", "-S", "-B", "-X", "utf8")
    folders = [*packages, str(runner)]
    start = f"import sys; sys.path[:0] = {folders}; from inside.child import main; main()"
    return [str(interpreter.executable()), *options, "-c", start, json.dumps(settings)]


def start_process(program, command, environment, folder, descriptors):
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


def _holding(data, stack):
    """A descriptor from which `data` can be read."""
    descriptor = os.memfd_create("for bubblewrap")
    _close_with(stack, descriptor)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _read_soon(information, popen):
    """What bwrap says of what it started, waited for as long as it lives."""
    until = time.monotonic() + 5
    while b"}" not in (said := os.pread(information, 4096, 0)) and popen.poll() is None and time.monotonic() < until:
        time.sleep(0.001)
    return said


def _close_with(stack, *descriptors):
    for descriptor in descriptors:
        stack.callback(os.close, descriptor)
