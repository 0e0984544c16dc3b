"""Start Python with two pipes for questions and replies: inside bubblewrap, as another user, or without isolation."""

import os
import shutil
import signal
import tempfile
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.sandbox import bubblewrap, interpreter, seccomp
from autograder.sandbox.bwrap_process import BwrapProcess
from autograder.sandbox.limits import Limits, SandboxUnavailable
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

KINDS = ("bwrap", "user", "none")
# The user id for the kind "user", which belongs to no account. Only one process at a time has it.
_USER = 64_321


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

    The kind "user" is for a container that allows no namespaces. Only root can start it.

    Raises ValueError for another kind, SandboxUnavailable without bubblewrap or without root, MachineTooBusy.
    """
    if kind not in KINDS:
        raise ValueError(f"the kind of sandbox must be {' or '.join(KINDS)}, not {kind}")
    if kind == "user" and os.geteuid() != 0:
        raise SandboxUnavailable("Only root can run code as another user.")
    with ExitStack() as until_started, ExitStack() as until_ended:
        child_requests, requests = os.pipe()
        replies, child_replies = os.pipe()
        close_with(until_started, child_requests, child_replies)
        close_with(until_ended, requests, replies)
        for descriptor in (requests, replies):
            os.set_blocking(descriptor, False)
        bare = partial(_bare, user=_USER if kind == "user" else None)
        start = partial(in_bubblewrap, imports=imports) if kind == "bwrap" else bare
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
    bundle: Path,
    limits: Limits,
    distributions: tuple[str, ...],
    pipes: tuple[int, int],
    until_ended: ExitStack,
    *,
    user: int | None,
) -> Started:
    """Start Python without namespaces, in a temporary folder of its own. user: whose rights it gets; None for ours."""
    temporary = tempfile.TemporaryDirectory(prefix="autograder-", ignore_cleanup_errors=True)
    folder = Path(until_ended.enter_context(temporary))
    runner = folder / "runner"
    runner.mkdir()
    place = os.symlink if user is None else shutil.copytree  # another user cannot read our folders
    for name, package in bubblewrap.RUNNER_PACKAGES.items():
        place(package, runner / name)
    place(bundle, folder / "bundle")
    bundle = (folder / "bundle").resolve()
    packages = [str(path) for path in interpreter.package_folders()]
    closing = b""
    if user is not None:
        closing = seccomp.closing()
        for path in (folder, *folder.rglob("*")):
            os.chown(path, user, user)
    command = _python_command(runner, bundle, packages, limits, distributions, pipes, closing, user)
    environment = {**ENVIRONMENT, "HOME": str(folder), bundle_data.FOLDER: str(bundle / "check")}
    popen = start_process(command[0], command, environment, str(folder), pipes)
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
    user: int | None = None,
) -> list[str]:
    """Return the command that runs `inside.child`; the paths are those in the sandbox."""
    settings = {
        "becomes": None if user is None else {"user": user, "program": seccomp.program().hex()},
        "requests": pipes[0],
        "replies": pipes[1],
        "bundle": str(bundle),
        "distributions": distributions,
        **run_settings(limits, closing),
    }
    return python_command("child", [*packages, str(runner)], settings)
