"""The kernel calls a submission may not make, as a filter program that bubblewrap hands to the kernel.

Classic BPF, put together by hand: a list of (code, jump if true, jump if false, value). It sees the
machine, the number of the call and its arguments; the first rule that fits decides.
"""

import errno
import platform
import struct

from autograder.sandbox.limits import SandboxUnavailable

# What each group would give a submission:
FORBIDDEN = {
    "processes of its own, which no limit counts": "fork vfork",
    "other processes' memory and descriptors": (
        "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp"
    ),
    "the caller's keys": "add_key request_key keyctl",
    "other file systems": (
        "mount umount2 pivot_root chroot open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr "
        "open_by_handle_at name_to_handle_at swapon swapoff quotactl"
    ),
    "other namespaces, and rights within them": "unshare setns",
    "memory that the memory limit does not count": "memfd_create memfd_secret shmget msgget semget",
    "sockets: some families (vsock) know no network namespace": "socket socketpair",
    "parts of the kernel where its mistakes were": (
        "bpf userfaultfd perf_event_open io_uring_setup io_uring_enter io_uring_register kexec_load "
        "kexec_file_load init_module finit_module delete_module modify_ldt syslog acct"
    ),
}

# From the kernel's tables; the calls since 424 have one number everywhere.
_SINCE_424 = dict(
    io_uring_setup=425, io_uring_enter=426, io_uring_register=427, open_tree=428, move_mount=429, fsopen=430,
    fsconfig=431, fsmount=432, fspick=433, clone3=435, pidfd_getfd=438, process_madvise=440, mount_setattr=442,
    memfd_secret=447,
)  # fmt: skip
_NUMBERS = {
    "x86_64": _SINCE_424 | dict(
        shmget=29, socket=41, socketpair=53, clone=56, fork=57, vfork=58, semget=64, msgget=68, ptrace=101, syslog=103,
        modify_ldt=154, pivot_root=155, chroot=161, acct=163, mount=165, umount2=166, swapon=167, swapoff=168,
        init_module=175, delete_module=176, quotactl=179, kexec_load=246, add_key=248, request_key=249, keyctl=250,
        unshare=272, perf_event_open=298, name_to_handle_at=303, open_by_handle_at=304, setns=308,
        process_vm_readv=310, process_vm_writev=311, kcmp=312, finit_module=313, memfd_create=319,
        kexec_file_load=320, bpf=321, userfaultfd=323,
    ),
    "aarch64": _SINCE_424 | dict(
        umount2=39, mount=40, pivot_root=41, chroot=51, quotactl=60, acct=89, unshare=97, kexec_load=104,
        init_module=105, delete_module=106, syslog=116, ptrace=117, msgget=186, semget=190, shmget=194, socket=198,
        socketpair=199, add_key=217, request_key=218, keyctl=219, clone=220, swapon=224, swapoff=225,
        perf_event_open=241, name_to_handle_at=264, open_by_handle_at=265, setns=268, process_vm_readv=270,
        process_vm_writev=271, kcmp=272, finit_module=273, memfd_create=279, bpf=280, userfaultfd=282,
        kexec_file_load=294,
    ),
}  # fmt: skip
_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000

# Offsets in struct seccomp_data, the codes of the instructions used, and what a filter may return.
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000


def program(machine: str = "") -> bytes:
    """The filter for a machine ("x86_64" or "aarch64", this one by default); SandboxUnavailable for any other.

    A forbidden call fails with EPERM. clone is allowed for threads alone; clone3 hides its flags where no
    filter can look, so it "does not exist" (ENOSYS) and the C library falls back to clone.
    """
    machine = machine or platform.machine()
    if machine not in _NUMBERS:
        raise SandboxUnavailable(f"There is no system call filter for {machine}: grade on x86_64 or aarch64.")
    numbers = _NUMBERS[machine]
    rules = [(_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, _MACHINES[machine]), _return(_KILL), (_LOAD, 0, 0, _NUMBER)]
    if machine == "x86_64":
        rules += [(_AT_LEAST, 0, 1, _X32), _return(_KILL)]
    for name in forbidden(machine):
        rules += [(_EQUAL, 0, 1, numbers[name]), _return(_failing(errno.EPERM))]
    rules += [(_EQUAL, 0, 1, numbers["clone3"]), _return(_failing(errno.ENOSYS))]
    rules += [(_EQUAL, 1, 0, numbers["clone"]), _return(_ALLOW)]
    rules += [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_ANY_BIT, 1, 0, _CLONE_THREAD), _return(_failing(errno.EPERM))]
    rules += [_return(_ALLOW)]
    return b"".join(struct.pack("=HBBI", *rule) for rule in rules)


def forbidden(machine: str) -> list[str]:
    """The names of the calls that fail; aarch64 never had fork, vfork and modify_ldt."""
    return [name for group in FORBIDDEN.values() for name in group.split() if name in _NUMBERS[machine]]


def _return(value):
    return _RETURN, 0, 0, value


def _failing(error):
    return 0x00050000 | error
