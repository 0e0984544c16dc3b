"""Put walls around a fork of the warm parent before it runs a student's code.

The warm parent forks `init` into new namespaces, in which it is process 1. `init` mounts the file systems and gives up
all rights. It then forks the student's process and only waits for its end.
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
class ForkSettings:
    """The descriptors and settings of a forked process.

    requests, replies: its ends of the two pipes. control: a socket on which it reports a failure to start.
    settings: those of `child.Worker`, with the limits and the settings of the walls.
    """

    requests: int
    replies: int
    control: int
    settings: dict[str, Any]


def live(fork: ForkSettings) -> NoReturn:
    """Act as PID 1 of the new namespaces until they end. Never return into the warm parent's code."""
    status = 1
    try:
        status = _init(fork)
    except BaseException as error:
        _report_failure(fork.control, error)
    finally:
        os._exit(status)


def _init(fork: ForkSettings) -> int:
    """Do all that needs rights, start the student's process, wait for it, and return its status as bwrap would."""
    kernel.die_with_parent()
    # kill(0, ...) reaches a process group even outside its pid namespace, here the warm parent and all its children.
    os.setsid()
    # The kernel drops signals to process 1 for which it has no handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    kernel.close_all_but(fork.requests, fork.replies, fork.control)
    _map_user()
    _mount_own_folders(fork.settings)
    kernel.drop_capabilities()
    student = os.fork()  # not clone, because the hooks of Python and the C library have to run
    if student == 0:
        _be_student(fork)
    kernel.close_all_but()
    kernel.set_undumpable()
    kernel.install_filter(bytes.fromhex(fork.settings["filter"]))
    _, status = os.waitpid(student, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _map_user() -> None:
    for name, line in (("setgroups", "deny"), ("uid_map", f"{NOBODY} {NOBODY} 1"), ("gid_map", f"{NOBODY} {NOBODY} 1")):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(descriptor, line.encode())
        os.close(descriptor)


def _mount_own_folders(settings: dict[str, Any]) -> None:
    """Mount two empty writable folders, and a /proc for this namespace as `bubblewrap.py` describes it."""
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
    os.chdir(settings["writable"][0])  # all children share the folder below it, in which this process started


def _be_student(fork: ForkSettings) -> NoReturn:
    """Serve requests in this process, which runs a student's code, until there are no more."""
    status = 1
    try:
        worker = _confined_worker(fork)
        worker.serve()
        status = 0
    finally:
        os._exit(status)


def _confined_worker(fork: ForkSettings) -> child.Worker:
    """Do what `child.main` does in a new process, and return the worker."""
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
    """Give this process random numbers of its own. The warm parent seeded the generators when it imported them."""
    random.seed()
    sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()


def _report_failure(control: int, error: BaseException) -> None:
    words = f"{type(error).__name__}: {error}"
    with contextlib.suppress(OSError):  # the grader is gone
        os.write(control, json.dumps({"failed": words[:1000]}).encode())
