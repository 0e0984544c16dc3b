"""Build the filter of system calls that a submission may make. Bubblewrap passes it to the kernel.

Every call that is not listed here fails: sockets, processes, other namespaces, keys, locks, timers, message queues,
shared and hidden memory, file watches, and all calls that later kernels add. The list has the calls that Python, NumPy,
Matplotlib and PyTorch make according to strace, and their variants.

The filter is classic BPF, assembled by hand from instructions (code, jump if true, jump if false, value). It sees the
machine, the number of the call and its arguments. The first rule that matches decides.
"""

import errno
import platform
import struct

from autograder.sandbox.limits import SandboxUnavailable
from autograder.sandbox.system_calls import NUMBERS

# The calls that are allowed with any arguments, grouped by purpose.
ALLOWED = {
    "files: open, read and write": (
        "open openat close close_range read write readv writev pread64 pwrite64 preadv pwritev lseek sendfile "
        "copy_file_range dup dup2 dup3 pipe pipe2 ftruncate truncate fallocate fsync fdatasync fadvise64 umask"
    ),
    "files: inspect, name and remove": (
        "stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat getdents64 "
        "getcwd chdir fchdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 symlink symlinkat chmod "
        "fchmod fchmodat utimensat getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr"
    ),
    "memory that the memory limit counts": "brk mmap munmap mremap mprotect madvise msync",
    "threads: start, wait for each other, end": (
        "futex set_robust_list set_tid_address rseq gettid sched_yield sched_getaffinity sched_getparam "
        "sched_getscheduler sched_get_priority_max sched_get_priority_min arch_prctl exit exit_group wait4"
    ),
    "signals, and the alarm that stops code after its time limit": (
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack "
        "restart_syscall pause kill tkill tgkill alarm getitimer setitimer"
    ),
    "time and waiting": (
        "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times select pselect6 poll ppoll"
    ),
    "facts about the program and the machine": (
        "getpid getppid getpgrp getpgid getsid getuid geteuid getgid getegid getgroups getresuid getresgid getrusage "
        "getpriority getcpu uname sysinfo getrandom"
    ),
    "starting Python and setting its limits, both of which `closing` forbids later": "execve prlimit64",
}

# The calls that are allowed for some uses only: the number of the argument that names the use, and its allowed values.
USES = {
    # Duplicating descriptors, and their flags. Not locks, which use kernel memory without a limit; not signals.
    "fcntl": (1, {"F_DUPFD": 0, "F_GETFD": 1, "F_SETFD": 2, "F_GETFL": 3, "F_SETFL": 4, "F_DUPFD_CLOEXEC": 1030}),
    # Asking whether a descriptor is a terminal; and how Python sets a descriptor's flags.
    "ioctl": (1, {"TCGETS": 0x5401, "TIOCGWINSZ": 0x5413, "FIONREAD": 0x541B, "FIONBIO": 0x5421, "FIOCLEX": 0x5451}),
    # Names of threads; and two uses that `closing` forbids later.
    "prctl": (
        0,
        {"PR_GET_DUMPABLE": 3, "PR_SET_DUMPABLE": 4, "PR_SET_NAME": 15, "PR_GET_NAME": 16, "PR_SET_SECCOMP": 22},
    ),
}

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000
# Calls from this number on have the same number on every machine, and the oldest kernel that we support lacks them all.
_RECENT = 424

# Offsets in struct seccomp_data, the codes of the instructions used, and what a filter may return.
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000

Rule = tuple[int, int, int, int]  # code, jump if true, jump if false, value


def program(machine: str = "") -> bytes:
    """Return the filter for a machine, "x86_64" or "aarch64"; by default for this one.

    clone is allowed only for threads. A forbidden call fails with EPERM. A recent one fails with ENOSYS ("does not
    exist"), for which every library is prepared. So does clone3, because a filter cannot see its flags.

    Raises SandboxUnavailable for any other machine.
    """
    machine = machine or platform.machine()
    if machine not in NUMBERS:
        raise SandboxUnavailable(f"There is no system call filter for {machine}: grade on x86_64 or aarch64.")
    numbers = NUMBERS[machine]
    rules = _beginning(machine)
    if machine == "x86_64":
        rules += [(_AT_LEAST, 0, 1, _X32), _return(_KILL)]
    for name in allowed(machine):
        rules += [(_EQUAL, 0, 1, numbers[name]), _return(_ALLOW)]
    for name, (argument, values) in USES.items():
        matches = [rule for value in values.values() for rule in ((_EQUAL, 0, 1, value), _return(_ALLOW))]
        rules += _when(numbers[name], [_load(argument), *matches, _return(_failing(errno.EPERM))])
    thread = [_load(0), (_ANY_BIT, 0, 1, _CLONE_THREAD), _return(_ALLOW), _return(_failing(errno.EPERM))]
    rules += _when(numbers["clone"], thread)
    rules += [(_AT_LEAST, 0, 1, _RECENT), _return(_failing(errno.ENOSYS)), _return(_failing(errno.EPERM))]
    return _bytes(rules)


def closing(machine: str = "") -> bytes:
    """Return the second filter, which the process installs on itself before it runs a student's code.

    It forbids calls that the process needs only at the start: running another program, changing a limit, changing
    whether a crash dumps the memory, and installing another filter.
    """
    machine = machine or platform.machine()
    numbers, refused = NUMBERS[machine], _return(_failing(errno.EPERM))
    rules = _beginning(machine)
    for name in ("execve", "execveat"):
        rules += [(_EQUAL, 0, 1, numbers[name]), refused]
    # prlimit64 may read a limit: then its third argument, the new limit, is a null pointer, of two words.
    null = [_load(2), (_EQUAL, 0, 2, 0), _load(2, upper=True), (_EQUAL, 1, 0, 0), refused, _return(_ALLOW)]
    rules += _when(numbers["prlimit64"], null)
    _, prctl = USES["prctl"]
    uses = (prctl["PR_SET_DUMPABLE"], prctl["PR_SET_SECCOMP"])
    forbidden = [rule for use in uses for rule in ((_EQUAL, 0, 1, use), refused)]
    rules += _when(numbers["prctl"], [_load(0), *forbidden, _return(_ALLOW)])
    return _bytes([*rules, _return(_ALLOW)])


def allowed(machine: str) -> list[str]:
    """Return the names of the calls that a machine allows with any arguments."""
    return [name for group in ALLOWED.values() for name in group.split() if name in NUMBERS[machine]]


def _beginning(machine: str) -> list[Rule]:
    """Return the rules that kill a process that makes another machine's calls, and load the number of the call."""
    return [(_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, _MACHINES[machine]), _return(_KILL), (_LOAD, 0, 0, _NUMBER)]


def _when(number: int, rules: list[Rule]) -> list[Rule]:
    """Return rules that apply to one call only. The rules must end with a decision."""
    return [(_EQUAL, 0, len(rules), number), *rules]


def _load(argument: int, upper: bool = False) -> Rule:
    """Return the rule that loads the lower or the upper word of an argument. Both machines are little-endian."""
    return _LOAD, 0, 0, _ARGUMENTS + 8 * argument + 4 * upper


def _return(value: int) -> Rule:
    return _RETURN, 0, 0, value


def _failing(error: int) -> int:
    """Return the filter's result that makes a call fail with this errno."""
    return 0x00050000 | error


def _bytes(rules: list[Rule]) -> bytes:
    return b"".join(struct.pack("=HBBI", *rule) for rule in rules)
