"""Limits a process sets on itself before it runs code it does not trust; it cannot lift them again."""

import math
import resource

MB = 2**20


def confine(memory_mb, wall_seconds, disk_mb, open_files, threads):
    """Limit address space, processor time, file size, descriptors and threads, for good; no core dumps."""
    seconds = math.ceil(wall_seconds)
    _limit("RLIMIT_CPU", seconds, seconds + 1)
    _limit("RLIMIT_FSIZE", disk_mb * MB)
    _limit("RLIMIT_NOFILE", open_files)
    _limit("RLIMIT_CORE", 0)
    _limit("RLIMIT_MSGQUEUE", 0)
    _limit("RLIMIT_NPROC", threads)
    _limit("RLIMIT_AS", memory_mb * MB)


def _limit(name, soft, hard=None):
    kind = getattr(resource, name, None)
    if kind is None:  # macOS has no message queues
        return
    hard = soft if hard is None else hard
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
