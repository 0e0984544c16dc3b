"""A warm process inside bubblewrap that forks a walled-off process for each run: `inside/zygote.py` is what runs there.

A fork is ready in milliseconds, because Python, NumPy and our modules are loaded already. It has namespaces, limits and
a filter of its own. Compared with a process that is started anew, all forks of one zygote share the seed of Python's
hashes and the layout of their memory.
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

from autograder.sandbox import bubblewrap, interpreter, seccomp
from autograder.sandbox.bwrap_process import BwrapProcess
from autograder.sandbox.fork import Zygote
from autograder.sandbox.limits import Limits, MachineTooBusy, SandboxUnavailable
from autograder.sandbox.starting import (
    ENVIRONMENT,
    PYTHON_OPTIONS,
    SandboxLost,
    close_with,
    read_error,
)
from check import bundle_data

# What setup cells import besides the chapter's own modules and, in some runs, PyTorch.
_PRELOADED = ("numpy.random", "check.notebook")
# What takes nearly as long to import as most submissions run, or longer, and the words of code that imports it. NumPy
# imports its tests' helpers where `np.testing` is first named.
_SLOW_IMPORTS = {"matplotlib.pyplot": ("matplotlib", "figures"), "numpy.testing": ("testing",)}
# The thread that waits for the end of one that is not used any more.
RETIRED = "retired warm sandbox"
_TOO_SLOW = "A warm sandbox did not start in time. The machine may be too busy."


def slow_imports(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the modules that take long to import, and that code in these sources may import."""
    text = "\n".join(sources)
    return tuple(module for module, words in _SLOW_IMPORTS.items() if any(word in text for word in words))


class StartedZygote(Zygote):
    """The warm process for one bundle and some distributions. bwrap: the process that runs it."""

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
        environment = ENVIRONMENT | {
            "HOME": str(bubblewrap.WORK),
            bundle_data.FOLDER: str(bubblewrap.BUNDLE / "check"),
        }
        options = bubblewrap.zygote_arguments(bundle, environment, distributions)
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
    """Return the command that runs `inside.zygote`, with its settings as JSON; the paths are those in the sandbox."""
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
    folders = [str(bubblewrap.PACKAGES), str(bubblewrap.RUNNER)]
    start = f"import sys; sys.path[:0] = {folders}; from inside.zygote import main; main()"
    return [str(interpreter.executable()), *PYTHON_OPTIONS, "-c", start, json.dumps(settings)]
