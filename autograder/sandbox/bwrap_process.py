"""Start bwrap, and kill what runs inside it."""

import functools
import os
import re
import signal
import time
from contextlib import ExitStack

from autograder.sandbox import bubblewrap
from autograder.sandbox.starting import memory_file, start_process


class BwrapProcess:
    """bwrap with a command inside.

    popen: bwrap itself, which ends after all processes inside.
    """

    def __init__(
        self,
        options: list[str],
        command: list[str],
        descriptors: tuple[int, ...],
        leftovers: ExitStack,
        rules: bytes = b"",
    ):
        """Start it.

        Args:
            options: of bwrap. They go through a descriptor, because student code could read arguments, and our paths in
                them, in /proc.
            command: runs inside and inherits the descriptors.
            leftovers: closes everything that bwrap needs until its end.
            rules: the system call filter for the command; empty if there is none.
        """
        # bwrap reports to a file in memory, not to a pipe. If the reader of a pipe were killed, bwrap would die and
        # leave behind the process that it had just started.
        self._information = memory_file(b"", leftovers)
        with ExitStack() as until_started:
            files = {"--args": memory_file("\0".join(options).encode(), until_started), "--info-fd": self._information}
            if rules:
                files["--seccomp"] = memory_file(rules, until_started)
            bwrap = ["bwrap", *(word for name, file in files.items() for word in (name, str(file))), "--"]
            descriptors = (*descriptors, *files.values())
            self.popen = start_process(str(bubblewrap.find()), [*bwrap, *command], {}, "/", descriptors)
        assert self.popen.stderr is not None
        leftovers.enter_context(self.popen.stderr)

    @functools.cached_property
    def first_pid(self) -> int:
        """Process id, on this machine, of the first process inside; 0 if there is none."""
        match = re.search(rb'"child-pid": (\d+)', self._report())
        return int(match[1]) if match else 0

    def descriptors(self) -> tuple[int, int]:
        """Return the descriptors that stay open until the leftovers are closed."""
        assert self.popen.stderr is not None
        return self._information, self.popen.stderr.fileno()

    def kill(self) -> None:
        """Kill all processes inside. Raises ProcessLookupError if there are none."""
        # When the first process of a namespace dies, the kernel kills all others, and then bwrap ends. If we killed
        # bwrap before the kernel has tied the two together, the first process would survive.
        if self.first_pid:
            os.kill(self.first_pid, signal.SIGKILL)
        else:
            self.popen.kill()

    def _report(self) -> bytes:
        """Return the report of bwrap about the process that it started. Wait up to 5 seconds while bwrap runs."""
        deadline = time.monotonic() + 5
        while True:
            report = os.pread(self._information, 4096, 0)
            if b"}" in report or self.popen.poll() is not None or time.monotonic() >= deadline:
                return report
            time.sleep(0.001)
