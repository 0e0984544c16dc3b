"""Start a warm parent: a process inside bubblewrap that forks a walled-off process for each run.

`inside/forking.py` is what runs there. A fork is ready in milliseconds, because its parent has loaded Python, NumPy and
our modules. Each fork has namespaces, limits and a filter of its own. Unlike processes that are started anew, all forks
of one parent share the seed of Python's hashes and the layout of their memory.
"""

import json
import os
import select
import socket
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Thread
from typing import Any

from autograder.sandbox import bubblewrap, seccomp
from autograder.sandbox.bwrap_process import BwrapProcess
from autograder.sandbox.fork import WarmParent
from autograder.sandbox.limits import Limits, MachineTooBusy, SandboxUnavailable
from autograder.sandbox.starting import SandboxLost, close_with, python_command, read_error

# What setup cells import besides the chapter's own modules and, in some runs, PyTorch.
_PRELOADED = ("numpy.random", "check.notebook")
# Modules whose import takes about as long as most submissions, or longer, and words in the code that imports them.
# NumPy imports `numpy.testing` when code first uses `np.testing`.
_SLOW_IMPORTS = {"matplotlib.pyplot": ("matplotlib", "figures"), "numpy.testing": ("testing",)}
# The name of threads that wait for the end of a parent that is no longer used.
RETIRED = "retired warm sandbox"
_TOO_SLOW = "A warm sandbox did not start in time. The machine may be too busy."


def slow_imports(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that take a long time to import and that these sources may import."""
    text = "\n".join(sources)
    return tuple(module for module, words in _SLOW_IMPORTS.items() if any(word in text for word in words))


class StartedWarmParent(WarmParent):
    """The warm parent for one bundle and some distributions. bwrap: the process that runs it."""

    def __init__(self, bundle: Path, limits: Limits, distributions: tuple[str, ...]):
        """Start the process and try one fork.

        Raises:
            SandboxUnavailable: the kernel does not allow it, or bubblewrap is missing.
            MachineTooBusy: it did not start in time.
        """
        self._leftovers = ExitStack()
        deadline = time.monotonic() + limits.start_seconds
        with ExitStack() as if_it_fails:
            if_it_fails.callback(self._leftovers.close)
            self._start(bundle, distributions)
            if_it_fails.callback(self._kill)
            self._await_ready(deadline)
            self._try_a_fork(limits, deadline)
            if_it_fails.pop_all()

    def descriptors(self) -> tuple[int, ...]:
        """Return the descriptors that stay open until it is retired."""
        return self.fileno(), *self.bwrap.descriptors()

    def retire(self) -> None:
        self._leftovers.close()
        Thread(target=self.bwrap.popen.wait, name=RETIRED, daemon=True).start()

    def _start(self, bundle: Path, distributions: tuple[str, ...]) -> None:
        requests, its_requests = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(self._leftovers.enter_context(requests))
        options = bubblewrap.warm_parent_arguments(bundle, distributions)
        with its_requests:
            command = _python_command(its_requests.fileno(), bundle, distributions)
            self.bwrap = BwrapProcess(options, command, (its_requests.fileno(),), self._leftovers)

    def _await_ready(self, deadline: float) -> None:
        self._requests.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            message = self._requests.recv(2**16)
        except TimeoutError:
            raise MachineTooBusy(_TOO_SLOW) from None
        except ConnectionError:
            message = b""
        self._requests.settimeout(None)
        answer = json.loads(message) if message else {}
        if not answer.get("ready"):
            self._kill()
            reason = answer.get("failed") or read_error(self.bwrap.popen)
            raise SandboxUnavailable(f"The warm sandbox did not start. {reason}".strip())

    def _kill(self) -> None:
        if self.bwrap.popen.poll() is None:
            with suppress(ProcessLookupError):
                self.bwrap.kill()
            self.bwrap.popen.wait()

    def _try_a_fork(self, limits: Limits, deadline: float) -> None:
        """Wait until a fork is ready. Raises SandboxUnavailable, MachineTooBusy."""
        with ExitStack() as stack:
            its_requests, requests = os.pipe()
            replies, its_replies = os.pipe()
            close_with(stack, its_requests, requests, replies, its_replies)
            try:
                fork = self.fork(limits, (its_requests, its_replies))
                stack.callback(fork.end)
                while fork.poll() is None:
                    readable, _, _ = select.select(
                        [replies, fork.fileno()], [], [], max(0.0, deadline - time.monotonic())
                    )
                    if replies in readable:
                        return
                    if not readable:
                        raise MachineTooBusy(_TOO_SLOW)
                fork.wait()
            except SandboxLost:
                raise SandboxUnavailable("The warm sandbox ended when it forked.") from None
            raise SandboxUnavailable(f"A fork of the warm sandbox did not start. {fork.error}".strip())


def _python_command(its_requests: int, bundle: Path, distributions: tuple[str, ...]) -> list[str]:
    """Return the command that runs `inside.forking`; the paths are those in the sandbox."""
    own = sorted(f"solutions.{path.stem}" for path in bundle.glob("solutions/*.py") if path.stem != "__init__")
    settings: dict[str, Any] = {
        "socket": its_requests,
        "preloaded": [*_PRELOADED, *own, *(["torch"] if "torch" in distributions else [])],
        "bundle": str(bubblewrap.BUNDLE),
        "distributions": distributions,
        "writable": [str(bubblewrap.WORK), str(bubblewrap.TEMPORARY)],
        "covered": [str(path) for path in bubblewrap.revealing_files()],
        "filter": seccomp.program().hex(),
    }
    return python_command("forking", [str(bubblewrap.PACKAGES), str(bubblewrap.RUNNER)], settings)
