"""The warm parent: it imports NumPy, our modules and the bundle's once, and forks a walled-off process for each run.

It runs inside bubblewrap, has no rights and no network, and never runs a student's code. `sandbox/warm_parent.py`
starts it and sends requests, each one message on a socket: as JSON the limits and the modules that the run will import,
and three descriptors. These are the child's ends of its two pipes, and the end of a control socket of its own.
There the warm parent sends {"started": true} with a pidfd of the child, and {"status": ...} when the child has ended.
If the child fails before it runs a student's code, it sends {"failed": "why"} itself.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
from typing import Any

from . import kernel, walls


def main() -> None:
    """Import everything, then fork children until all other ends of the socket are closed."""
    settings = json.loads(sys.argv[1])
    requests = socket.socket(fileno=settings.pop("socket"))
    requests.set_inheritable(False)
    _import_all(settings.pop("preloaded"), settings["bundle"])
    if len(threads := os.listdir("/proc/self/task")) > 1:
        failure = f"{len(threads)} threads run after the imports, and a fork would copy only one of them"
        requests.send(json.dumps({"failed": failure}).encode())
        return
    requests.send(json.dumps({"ready": True}).encode())
    fork = Forker(requests, settings).serve()
    if fork:
        walls.live(fork)


def _import_all(names: list[str], bundle: str) -> None:
    """Import modules, also from the bundle, so that forks need not. Ignore failures, which a fork will report."""
    sys.path.insert(0, bundle)
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    sys.path.remove(bundle)
    gc.collect()
    gc.freeze()  # so that the collector does not copy memory that the children share


class Forker:
    """Forks a child for each request and reports how the child ended. A child does not keep this object.

    requests: the socket on which requests arrive. settings: the settings that all children share.
    """

    def __init__(self, requests: socket.socket, settings: dict[str, Any]):
        self._requests, self._settings = requests, settings
        self._children: dict[int, tuple[int, int]] = {}  # pidfd -> its process id, its control socket
        self._pidfds: dict[int, int] = {}  # control socket -> pidfd, while the grader's end is open
        self._imported: set[str] = set()  # modules that earlier runs needed
        self._poll = select.poll()
        self._poll.register(requests, select.POLLIN)

    def serve(self) -> walls.ForkSettings | None:
        """Serve until all other ends are closed and no child is left, then return None.

        In a child, return its ForkSettings.
        """
        asked = True
        while asked or self._children:
            # One event at a time, because handling it may close a descriptor and open another with the same number.
            descriptor, _ = self._poll.poll()[0]
            if descriptor in self._children:
                self._reap(descriptor)
            elif descriptor in self._pidfds:
                self._hang_up(descriptor)
            else:
                message, descriptors, _, _ = socket.recv_fds(self._requests, 2**16, 3, socket.MSG_CMSG_CLOEXEC)
                if not message:
                    asked = False
                    self._poll.unregister(self._requests)
                elif fork := self._fork(self._prepared(json.loads(message)), *descriptors):
                    self._requests.detach()  # in the child another file may soon get its number
                    return fork
        return None

    def _prepared(self, request: dict[str, Any]) -> dict[str, Any]:
        """Import what a run will import, unless an earlier run did, and return the limits of its request."""
        if new := set(request.pop("imports")) - self._imported:
            self._imported |= new
            _import_all(sorted(new), self._settings["bundle"])
            for thread in threading.enumerate()[1:]:  # matplotlib starts a thread that ends at once
                thread.join()
        return request

    def _fork(self, limits: dict[str, Any], requests: int, replies: int, control: int) -> walls.ForkSettings | None:
        """Fork a child. Return its ForkSettings in the child, and None in this process."""
        try:
            pid, pidfd = kernel.clone(kernel.ALL_NAMESPACES)
            if pid == 0:
                return walls.ForkSettings(requests, replies, control, self._settings | limits)
            self._children[pidfd] = pid, control
            self._pidfds[control] = pidfd
            self._poll.register(pidfd, select.POLLIN)
            self._poll.register(control, 0)  # only for POLLHUP, which is always reported
            _send(control, {"started": True}, pidfd)
        except OSError as error:
            _send(control, {"failed": str(error)})
            os.close(control)
        os.close(requests)
        os.close(replies)
        return None

    def _hang_up(self, control: int) -> None:
        """Kill a child for which the grader no longer waits."""
        self._poll.unregister(control)
        signal.pidfd_send_signal(self._pidfds.pop(control), signal.SIGKILL)

    def _reap(self, pidfd: int) -> None:
        pid, control = self._children.pop(pidfd)
        _, status = os.waitpid(pid, 0)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        if self._pidfds.pop(control, None) is not None:
            self._poll.unregister(control)
        _send(control, {"status": os.waitstatus_to_exitcode(status)})
        os.close(control)


def _send(control: int, message: dict[str, Any], *descriptors: int) -> None:
    end = socket.socket(fileno=control)
    try:
        socket.send_fds(end, [json.dumps(message).encode()], descriptors)
    except OSError:
        pass  # the grader does not wait any more
    finally:
        end.detach()
