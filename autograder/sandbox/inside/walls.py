"""Put walls around a process that was forked from the warm one, before it runs a student's code.

The warm process forks `init` into new namespaces: process 1 of its own, which makes the file systems and gives up all
rights. It forks the student's process and only waits for its end.
"""

import contextlib
import json
import os
import random
import signal
import sys
from dataclasses import dataclass
from typing import Any, NoReturn

from . import child, confine, kernel

NOBODY = 65534
_LOCKED = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
_CLOSED = _LOCKED | kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY


@dataclass(frozen=True)
class Fork:
    """What one forked process gets.

    requests, replies: its ends of the two pipes. control: a socket, to say why it failed to start.
    settings: as `child.Worker` needs them, with the limits and what the walls are made of.
    """

    requests: int
    replies: int
    control: int
    settings: dict[str, Any]


def live(fork: Fork) -> NoReturn:
    """Be the first process of the new namespaces, to the end. Never returns into the warm process's code."""
    status = 1
    try:
        status = _init(fork)
    except BaseException as error:
        _report_failure(fork.control, error)
    finally:
        os._exit(status)


def _init(fork: Fork) -> int:
    """Do all that needs rights, start the student's process and wait for it. Return its status as bwrap would."""
    kernel.die_with_parent()
    # kill(0, ...) reaches a process group even outside its pid namespace: the warm process's and all its children.
    os.setsid()
    # The kernel drops signals to process 1 for which it has no handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    kernel.close_all_but(fork.requests, fork.replies, fork.control)
    _map_user()
    _mount_own_folders(fork.settings)
    kernel.drop_capabilities()
    student = os.fork()  # not clone: Python's and the C library's own hooks have to run
    if student == 0:
        _be_student(fork)
    kernel.close_all_but()
    kernel.set_undumpable()
    kernel.install_filter(bytes.fromhex(fork.settings["filter"]))
    _, status = os.waitpid(student, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _map_user() -> None:
    for name, line in (
        ("setgroups", "deny"),
        ("uid_map", f"{NOBODY} {NOBODY} 1"),
        ("gid_map", f"{NOBODY} {NOBODY} 1"),
    ):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(descriptor, line.encode())
        os.close(descriptor)


def _mount_own_folders(settings: dict[str, Any]) -> None:
    """Mount two empty writable folders, and a /proc of this process's namespace as `bubblewrap.py` describes it."""
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    size = f"mode=0755,size={settings['disk_bytes']}"
    for folder in settings["writable"]:
        kernel.mount("tmpfs", folder, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, size)
    for name in sorted(os.listdir(settings["bundle"])):
        os.symlink(os.path.join(settings["bundle"], name), os.path.join(settings["writable"][0], name))
    kernel.mount("proc", "/proc", "proc", _LOCKED)
    for path in settings["covered"]:
        kernel.mount("/dev/null", path, "", kernel.MS_BIND)
        kernel.mount("none", path, "", _CLOSED)
    kernel.mount("tmpfs", "/proc/1", "tmpfs", _LOCKED | kernel.MS_RDONLY, "mode=0555,size=4k")
    kernel.mount("none", "/proc", "", _CLOSED)
    os.chdir(settings["writable"][0])  # the folder below it, where this process is, is the same for all children


def _be_student(fork: Fork) -> NoReturn:
    """Serve requests in this process, which runs a student's code, until there are no more."""
    status = 1
    try:
        worker = _confined_worker(fork)
        worker.serve()
        status = 0
    finally:
        os._exit(status)


def _confined_worker(fork: Fork) -> child.Worker:
    """Return the worker, after doing what `child.main` does in a new process."""
    try:
        os.setsid()
        _draw_new_seeds()
        kernel.install_filter(bytes.fromhex(fork.settings["filter"]))
        confine.confine(**fork.settings["limits"])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return child.prepare({**fork.settings, "requests": fork.requests, "replies": fork.replies})
    except BaseException as error:
        _report_failure(fork.control, error)
        raise
    finally:
        os.close(fork.control)


def _draw_new_seeds() -> None:
    """Give this process random numbers of its own. The generators were seeded when the warm process imported them."""
    random.seed()
    sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()


def _report_failure(control: int, error: BaseException) -> None:
    words = f"{type(error).__name__}: {error}"
    with contextlib.suppress(OSError):  # the grader is gone
        os.write(control, json.dumps({"failed": words[:1000]}).encode())
