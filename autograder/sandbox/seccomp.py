"""The kernel calls a submission may make, as a filter program that bubblewrap hands to the kernel.

Whatever is not named here fails: sockets, processes, other namespaces, keys, locks, timers, message queues, shared and
hidden memory, watches, and all that the next kernel brings. What is named is what Python, NumPy, Matplotlib and PyTorch
were seen to need (by strace), and its like.

Classic BPF, put together by hand: a list of (code, jump if true, jump if false, value). It sees the machine, the number
of the call and its arguments; the first rule that fits decides.
"""

import errno
import platform
import struct

from autograder.sandbox.limits import SandboxUnavailable
from autograder.sandbox.system_calls import NUMBERS

# By what each group is needed for.
ALLOWED = {
    "files: opened, read and written": (
        "open openat close close_range read write readv writev pread64 pwrite64 preadv pwritev lseek sendfile "
        "copy_file_range dup dup2 dup3 pipe pipe2 ftruncate truncate fallocate fsync fdatasync fadvise64 umask"
    ),
    "files: looked at, named and put away": (
        "stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2 readlink readlinkat getdents64 "
        "getcwd chdir fchdir mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 symlink symlinkat chmod "
        "fchmod fchmodat utimensat getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr"
    ),
    "memory, all of which the memory limit counts": "brk mmap munmap mremap mprotect madvise msync",
    "threads: to start, to wait for each other, to end": (
        "futex set_robust_list set_tid_address rseq gettid sched_yield sched_getaffinity sched_getparam "
        "sched_getscheduler sched_get_priority_max sched_get_priority_min arch_prctl exit exit_group wait4"
    ),
    "signals and the alarm, which stops what takes too long": (
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait sigaltstack "
        "restart_syscall pause kill tkill tgkill alarm getitimer setitimer"
    ),
    "time, and waiting": (
        "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times select pselect6 poll ppoll"
    ),
    "what a program asks about itself and the machine": (
        "getpid getppid getpgrp getpgid getsid getuid geteuid getgid getegid getgroups getresuid getresgid getrusage "
        "getpriority getcpu uname sysinfo getrandom"
    ),
    "starting Python and setting its limits: `closing` ends both": "execve prlimit64",
}

# Of these calls some uses: which argument tells them, and what it may be.
USES = {
    # Descriptors doubled and their flags. No locks, which cost the kernel memory without a limit; no signals.
    "fcntl": (1, {"F_DUPFD": 0, "F_GETFD": 1, "F_SETFD": 2, "F_GETFL": 3, "F_SETFL": 4, "F_DUPFD_CLOEXEC": 1030}),
    # Is it a terminal? And Python's way to set those flags.
    "ioctl": (1, {"TCGETS": 0x5401, "TIOCGWINSZ": 0x5413, "FIONREAD": 0x541B, "FIONBIO": 0x5421, "FIOCLEX": 0x5451}),
    # Names of threads; and what `closing` ends.
    "prctl": (
        0,
        {"PR_GET_DUMPABLE": 3, "PR_SET_DUMPABLE": 4, "PR_SET_NAME": 15, "PR_GET_NAME": 16, "PR_SET_SECCOMP": 22},
    ),
}

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000
# From here on, each number is the same call everywhere, and some kernel that we run on has none of them.
_YOUNG = 424

# Offsets in struct seccomp_data, the codes of the instructions used, and what a filter may return.
_NUMBER, _MACHINE, _ARGUMENTS = 0, 4, 16
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000


def program(machine: str = "") -> bytes:
    """The filter for a machine ("x86_64" or "aarch64", this one by default); SandboxUnavailable for any other.

    clone is allowed for threads alone. A call that is not allowed fails with EPERM; a young one "does not exist"
    (ENOSYS), which every library is prepared for. So does clone3, which hides its flags where no filter can look.
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
        fits = [rule for value in values.values() for rule in ((_EQUAL, 0, 1, value), _return(_ALLOW))]
        rules += _when(numbers[name], [_load(argument), *fits, _return(_failing(errno.EPERM))])
    thread = [_load(0), (_ANY_BIT, 0, 1, _CLONE_THREAD), _return(_ALLOW), _return(_failing(errno.EPERM))]
    rules += _when(numbers["clone"], thread)
    rules += [(_AT_LEAST, 0, 1, _YOUNG), _return(_failing(errno.ENOSYS)), _return(_failing(errno.EPERM))]
    return _bytes(rules)


def closing(machine: str = "") -> bytes:
    """A second filter, which the process lays on itself before it runs a student's code.

    What it needed to start is over: no other program, no other limit, no memory dumped, no further filter.
    """
    machine = machine or platform.machine()
    numbers, refused = NUMBERS[machine], _return(_failing(errno.EPERM))
    rules = _beginning(machine)
    for name in ("execve", "execveat"):
        rules += [(_EQUAL, 0, 1, numbers[name]), refused]
    # prlimit64 also tells a limit: then its third argument, the new one, is a null pointer of two words.
    null = [_load(2), (_EQUAL, 0, 2, 0), _load(2, upper=True), (_EQUAL, 1, 0, 0), refused, _return(_ALLOW)]
    rules += _when(numbers["prlimit64"], null)
    _, prctl = USES["prctl"]
    over = [rule for use in ("PR_SET_DUMPABLE", "PR_SET_SECCOMP") for rule in ((_EQUAL, 0, 1, prctl[use]), refused)]
    rules += _when(numbers["prctl"], [_load(0), *over, _return(_ALLOW)])
    return _bytes([*rules, _return(_ALLOW)])


def allowed(machine: str) -> list[str]:
    """The names of the calls that are allowed whatever their arguments."""
    return [name for group in ALLOWED.values() for name in group.split() if name in NUMBERS[machine]]


def _beginning(machine):
    return [(_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, _MACHINES[machine]), _return(_KILL), (_LOAD, 0, 0, _NUMBER)]


def _when(number, rules):
    """Rules for one call; they end in an answer."""
    return [(_EQUAL, 0, len(rules), number), *rules]


def _load(argument, upper=False):
    """The lower or upper word of an argument; both machines have the lower one first."""
    return _LOAD, 0, 0, _ARGUMENTS + 8 * argument + 4 * upper


def _return(value):
    return _RETURN, 0, 0, value


def _failing(error):
    return 0x00050000 | error


def _bytes(rules):
    return b"".join(struct.pack("=HBBI", *rule) for rule in rules)
