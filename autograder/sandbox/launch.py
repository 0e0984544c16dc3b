"""Start Python with two pipes for questions and replies, inside bubblewrap or (kind "none") without isolation."""

import os
import signal
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.sandbox import bubblewrap, interpreter, seccomp
from autograder.sandbox.bwrap_process import BwrapProcess
from autograder.sandbox.limits import Limits
from autograder.sandbox.starting import (
    ENVIRONMENT,
    SandboxLost,
    Started,
    close_with,
    only_child,
    python_command,
    read_error,
    run_settings,
    start_process,
)
from autograder.sandbox.warm import sandboxes
from check import bundle_data

KINDS = ("bwrap", "none")


@dataclass
class Launched:
    """A started process.

    started: waits for the process and kills it. requests, replies: our ends of the pipes.
    leftovers: closes and removes everything that the process needed while it ran.
    """

    started: Started
    requests: int
    replies: int
    leftovers: ExitStack

    def startup_error(self) -> str:
        """Kill everything and return the error message of a process that failed to start. Raises SandboxLost."""
        self.stop()
        self.started.program.wait()
        return self.started.error()

    def stop(self) -> None:
        """Kill everything and wait until it is gone. A second call does nothing."""
        if self.started.program.poll() is None:
            with suppress(ProcessLookupError):
                self.started.kill()
            with suppress(SandboxLost):
                self.started.program.wait()

    def end(self) -> None:
        """Stop, then close and remove the leftovers."""
        self.stop()
        self.leftovers.close()


def launch(
    bundle: Path, limits: Limits, kind: str, distributions: tuple[str, ...], imports: tuple[str, ...] = ()
) -> Launched:
    """Start a process of a kind in KINDS that can import these distributions. imports: modules that it will import.

    Raises ValueError for another kind, SandboxUnavailable if bubblewrap is missing, MachineTooBusy.
    """
    if kind not in KINDS:
        raise ValueError(f"the kind of sandbox must be {' or '.join(KINDS)}, not {kind}")
    with ExitStack() as until_started, ExitStack() as until_ended:
        child_requests, requests = os.pipe()
        replies, child_replies = os.pipe()
        close_with(until_started, child_requests, child_replies)
        close_with(until_ended, requests, replies)
        for descriptor in (requests, replies):
            os.set_blocking(descriptor, False)
        start = partial(in_bubblewrap, imports=imports) if kind == "bwrap" else _bare
        started = start(bundle, limits, distributions, (child_requests, child_replies), until_ended)
        return Launched(started, requests, replies, until_ended.pop_all())


def in_bubblewrap(
    bundle: Path,
    limits: Limits,
    distributions: tuple[str, ...],
    pipes: tuple[int, int],
    until_ended: ExitStack,
    *,
    imports: tuple[str, ...] = (),
) -> Started:
    """Fork a warm parent inside bubblewrap. If that is not possible, start Python inside bubblewrap.

    pipes: the child's ends, for requests and replies. until_ended: what to close when the process has ended.
    imports: modules that the warm parent should have imported.
    """
    fork = sandboxes.fork(bundle, limits, distributions, imports, pipes, until_ended)
    return fork or in_new_bubblewrap(bundle, limits, distributions, pipes, until_ended)


def in_new_bubblewrap(
    bundle: Path, limits: Limits, distributions: tuple[str, ...], pipes: tuple[int, int], until_ended: ExitStack
) -> Started:
    """Start Python inside bubblewrap. The arguments are those of `in_bubblewrap`."""
    options = bubblewrap.arguments(bundle, limits, distributions)
    python = _python_command(
        bubblewrap.RUNNER,
        bubblewrap.BUNDLE,
        [str(bubblewrap.PACKAGES)],
        limits,
        distributions,
        pipes,
        seccomp.closing(),
    )
    bwrap = BwrapProcess(options, python, pipes, until_ended, seccomp.program())
    return Started(bwrap.popen, lambda: only_child(bwrap.first_pid), bwrap.kill, lambda: read_error(bwrap.popen))


def _bare(
    bundle: Path, limits: Limits, distributions: tuple[str, ...], pipes: tuple[int, int], until_ended: ExitStack
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
    assert popen.stderr is not None
    until_ended.enter_context(popen.stderr)
    return Started(popen, lambda: popen.pid, lambda: os.killpg(popen.pid, signal.SIGKILL), lambda: read_error(popen))


def _python_command(
    runner: Path,
    bundle: Path,
    packages: list[str],
    limits: Limits,
    distributions: tuple[str, ...],
    pipes: tuple[int, int],
    closing: bytes = b"",
) -> list[str]:
    """Return the command that runs `inside.child`; the paths are those in the sandbox."""
    settings = {
        "requests": pipes[0],
        "replies": pipes[1],
        "bundle": str(bundle),
        "distributions": distributions,
        **run_settings(limits, closing),
    }
    return python_command("child", [*packages, str(runner)], settings)
