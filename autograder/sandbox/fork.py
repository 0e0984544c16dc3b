"""Ask a warm parent to fork. A fork is, for the grader, a control socket and a pidfd that comes through it."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import time
from contextlib import suppress

from autograder.sandbox import seccomp
from autograder.sandbox.limits import Limits
from autograder.sandbox.starting import SandboxLost, Started, only_child, run_settings


class WarmParent:
    """A warm parent, for the code that asks it to fork. Threads may share this object, and processes its socket.

    forks: how many forks we have asked for.
    """

    def __init__(self, requests: socket.socket):
        """requests: the socket for asking."""
        self.forks = 0
        self._requests = requests

    def fileno(self) -> int:
        """Return the descriptor of the socket."""
        return self._requests.fileno()

    def is_alive(self) -> bool:
        """Return whether it can fork."""
        poll = select.poll()
        poll.register(self._requests, 0)  # only for POLLHUP, which is always reported
        return not poll.poll(0)

    def fork(self, limits: Limits, pipes: tuple[int, int], imports: tuple[str, ...] = ()) -> "Fork":
        """Return a new process with these limits.

        pipes: its ends, for requests and replies. imports: modules that it will import. The warm parent imports them
            first.

        Raises SandboxLost if the warm parent has died.
        """
        control, its_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        message = json.dumps({**run_settings(limits, seccomp.closing()), "imports": imports}).encode()
        with its_control:
            try:
                socket.send_fds(self._requests, [message], [*pipes, its_control.fileno()])
            except OSError as error:
                control.close()
                raise SandboxLost from error
        self.forks += 1
        return Fork(control)

    def retire(self) -> None:
        """Stop asking for forks. When all copies of the socket are closed, the warm parent ends with its last fork."""
        self._requests.close()


class Fork:
    """A process that the warm parent has forked, which is the first process of its own namespaces.

    error: why the process failed to start; "" if it did not fail.
    """

    def __init__(self, control: socket.socket):
        """Take our end of its control socket."""
        self.error = ""
        self._control = control
        self._pidfd, self._first_pid, self._python_pid = -1, 0, 0
        self._status: int | None = None
        self._lost = False

    def fileno(self) -> int:
        """Return the descriptor on which messages from the warm parent or the fork arrive."""
        return self._control.fileno()

    def started(self) -> Started:
        """Return this process as `launch` needs it."""
        return Started(self, self.python_pid, self.kill, lambda: self.error)

    def python_pid(self) -> int:
        """Return the process id, on this machine, of the Python that runs student code; 0 if there is none."""
        self._await_start()
        if not self._python_pid and self._first_pid > 0:
            self._python_pid = only_child(self._first_pid)
        return self._python_pid

    def kill(self) -> None:
        """Kill the first process, and with it all others of its namespace."""
        self._await_start()
        if self._pidfd >= 0:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def poll(self) -> int | None:
        """Return the exit status, -N after signal N, or None while the process runs."""
        while self._status is None and self._receive(0):
            pass
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status. Raises subprocess.TimeoutExpired, SandboxLost."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._status is None:
            if not self._receive(None if deadline is None else max(0.0, deadline - time.monotonic())):
                raise subprocess.TimeoutExpired("a fork", timeout or 0)
        if self._lost:
            raise SandboxLost
        return self._status

    def end(self) -> None:
        """Kill the process, wait for its end, and close everything."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                self.kill()
            with suppress(SandboxLost):
                self.wait()
        self.close()

    def close(self) -> None:
        """Close everything. The warm parent kills the fork if it still runs."""
        self._control.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)

    def _await_start(self) -> None:
        while self._pidfd < 0 and self._status is None:
            self._receive(None)

    def _receive(self, seconds: float | None) -> bool:
        """Receive one message of the warm parent or of the fork; return False if none comes in time."""
        if not select.select([self._control], [], [], seconds)[0]:
            return False
        try:
            data, descriptors, _, _ = socket.recv_fds(self._control, 2**16, 1, socket.MSG_CMSG_CLOEXEC)
        except ConnectionError:
            data, descriptors = b"", []
        message = json.loads(data) if data else {}
        match message:
            case {"started": True}:
                (self._pidfd,) = descriptors
                self._first_pid = _pid_of(self._pidfd)
            case {"failed": str(error)}:
                self.error = error
                if self._pidfd < 0:  # then there is no process whose end the warm parent could report
                    self._status = 1
            case {"status": int(status)}:
                self._status = status
            case _:
                self._status, self._lost = -signal.SIGKILL, True
        return True


def _pid_of(pidfd: int) -> int:
    """Return the process id, on this machine, of the process that a pidfd names; -1 if it has ended."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as about:
        match = re.search(r"^Pid:\s*(-?\d+)", about.read(), re.MULTILINE)
    return int(match[1]) if match else -1
