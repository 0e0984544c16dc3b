"""Limits that a process sets for itself before it runs untrusted code. It cannot lift them again."""

import math
import os
import resource

from . import kernel

MB = 2**20


def confine(
    memory_mb: int, processor_seconds: float, disk_mb: int, open_files: int, threads: int, closing: str
) -> None:
    """Limit address space, processor time, file size, descriptors, signals and threads for good; prevent core dumps.

    closing: a system call filter, in hex, under which no limit can be changed; empty if there is none.
    """
    seconds = math.ceil(processor_seconds)
    _limit("RLIMIT_CPU", seconds, seconds + 1)
    _limit("RLIMIT_FSIZE", disk_mb * MB)
    _limit("RLIMIT_NOFILE", open_files)
    # core(5): at 0 a crash would still start the program that core_pattern may name; at 1 it does not.
    _limit("RLIMIT_CORE", 1)
    _limit("RLIMIT_SIGPENDING", 64)
    _limit("RLIMIT_MSGQUEUE", 0)
    _limit("RLIMIT_NPROC", threads)
    _limit("RLIMIT_AS", memory_mb * MB)
    if closing:
        _close(bytes.fromhex(closing))


def become(user: int, program: str) -> None:
    """Turn from root into another user for good. program: the filter of system calls from then on, in hex."""
    kernel.close_ways_to_capabilities()
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    kernel.drop_capabilities()
    kernel.install_filter(bytes.fromhex(program))


def _close(program: bytes) -> None:
    """Install the filter under which no limit can be changed."""
    # With RLIMIT_CORE at 0 the kernel would still run the core_pattern handler, so disable dumping altogether.
    if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1):
        kernel.set_undumpable()
    kernel.install_filter(program)


def _limit(name: str, soft: int, hard: int | None = None) -> None:
    """Set a limit of the `resource` module, at most to its present hard limit. By default `hard` is `soft`."""
    kind = getattr(resource, name, None)
    if kind is None:  # macOS limits neither message queues nor pending signals
        return
    hard = soft if hard is None else hard
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
