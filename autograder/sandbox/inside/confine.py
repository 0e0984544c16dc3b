"""Limits a process sets on itself before it runs code it does not trust; it cannot lift them again."""

import math
import resource
import struct

MB = 2**20
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 4, 22, 2


def confine(memory_mb, processor_seconds, disk_mb, open_files, threads, closing):
    """Limit address space, processor time, file size, descriptors, signals and threads, for good; no core dumps.

    closing: a system call filter, in hex, under which no limit can be changed; empty where there is none.
    """
    seconds = math.ceil(processor_seconds)
    _limit("RLIMIT_CPU", seconds, seconds + 1)
    _limit("RLIMIT_FSIZE", disk_mb * MB)
    _limit("RLIMIT_NOFILE", open_files)
    _limit("RLIMIT_CORE", 1)  # core(5): at 0 a crash still starts the program that core_pattern may name, at 1 none
    _limit("RLIMIT_SIGPENDING", 64)
    _limit("RLIMIT_MSGQUEUE", 0)
    _limit("RLIMIT_NPROC", threads)
    _limit("RLIMIT_AS", memory_mb * MB)
    if closing:
        _close(bytes.fromhex(closing))


def _close(program):
    """Under the filter no limit can be changed again. Where a dump may not even have 1 byte, none is made at all."""
    import ctypes  # which NumPy has imported

    rules = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("@HP", len(program) // 8, ctypes.addressof(rules))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]
    dumps = resource.getrlimit(resource.RLIMIT_CORE) != (1, 1)
    if (dumps and prctl(_PR_SET_DUMPABLE, 0, None)) or prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, described):
        raise OSError(ctypes.get_errno(), "the sandbox could not be closed")


def _limit(name, soft, hard=None):
    kind = getattr(resource, name, None)
    if kind is None:  # macOS has neither message queues nor a limit of signals
        return
    hard = soft if hard is None else hard
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
