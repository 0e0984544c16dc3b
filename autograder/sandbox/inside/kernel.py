"""Calls of the Linux kernel that the standard library lacks. Each raises OSError if the kernel refuses."""

import ctypes
import os
import signal
import struct

CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWIPC = 0x10000000, 0x20000000, 0x00020000, 0x08000000
CLONE_NEWNET, CLONE_NEWUTS, CLONE_NEWCGROUP = 0x40000000, 0x04000000, 0x02000000
ALL_NAMESPACES = (
    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWCGROUP
)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096
MS_REC, MS_PRIVATE = 1 << 14, 1 << 18
_CLONE3, _CLONE_PIDFD = 435, 0x1000  # the same number on every machine
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_READ, _PR_CAPBSET_DROP = 1, 4, 22, 23, 24
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)
# PyDLL keeps the interpreter lock, so that no other Python code runs before the new process starts.
_libc_with_lock = ctypes.PyDLL(None, use_errno=True)


def clone(flags: int) -> tuple[int, int]:
    """Fork this process, which must have only one thread, into new namespaces.

    Returns the child's process id and a pidfd of it; in the child 0 and -1.
    """
    pidfd = ctypes.c_int(-1)
    arguments = (ctypes.c_uint64 * 11)(flags | _CLONE_PIDFD, ctypes.addressof(pidfd), 0, 0, signal.SIGCHLD)
    pid = _libc_with_lock.syscall(ctypes.c_long(_CLONE3), arguments, ctypes.c_size_t(ctypes.sizeof(arguments)))
    if pid < 0:
        _check(-1, "clone3")
    return pid, pidfd.value if pid else -1


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system, or change the options of a mount."""
    words = [word.encode() for word in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None), f"mount {kind or source} on {target}")


def die_with_parent() -> None:
    """Let the kernel kill this process when the thread that created it ends."""
    _check(_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL), "prctl PR_SET_PDEATHSIG")


def set_undumpable() -> None:
    """Prevent core dumps, and keep processes without privileges from reading this process's memory."""
    _check(_prctl(_PR_SET_DUMPABLE, 0), "prctl PR_SET_DUMPABLE")


def drop_capabilities() -> None:
    """Give up all capabilities and all ways to gain one."""
    close_ways_to_capabilities()
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, bytes(24)), "capset")


def close_ways_to_capabilities() -> None:
    """Give up all ways to gain a capability, but keep the capabilities."""
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "prctl PR_SET_NO_NEW_PRIVS")
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    capability = 0
    while _prctl(_PR_CAPBSET_READ, capability) >= 0:
        _prctl(_PR_CAPBSET_DROP, capability)  # fails if there are no capabilities to drop
        capability += 1


def install_filter(program: bytes) -> None:
    """Install a system call filter, in classic BPF, for this process and its children."""
    rules = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(rules))
    _check(_libc.prctl(_PR_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_MODE_FILTER), described, 0, 0), "prctl PR_SET_SECCOMP")


def close_all_but(*kept: int) -> None:
    """Close all descriptors from 3 on, except these."""
    first = 3
    for descriptor in sorted(kept):
        if descriptor >= first:
            os.closerange(first, descriptor)
            first = descriptor + 1
    _check(_libc.close_range(ctypes.c_uint(first), ctypes.c_uint(2**32 - 1), 0), "close_range")


def _prctl(option: int, value: int) -> int:
    return int(_libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)))


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
