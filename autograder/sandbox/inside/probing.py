"""What the probe runs inside the sandbox, in a student's place: each function tries to get out in one way.

A promise that holds gives "", one that does not gives what was found. Sent as a cell's source; never
imported outside. Nothing here can do harm where the promise does not hold.
"""

import ctypes
import fcntl
import mmap
import os
import resource
import socket
import threading
import time

INTERFACES = "/proc/net/dev"


def no_network(port):
    """No interface but the loopback of its own, no connection to the caller's 127.0.0.1."""
    with open(INTERFACES) as table:
        names = {line.split(":")[0].strip() for line in table if ":" in line}
    if names - {"lo"}:
        return f"there are network interfaces: {', '.join(sorted(names))}"
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return ""
    return "it reached a server outside"


def nothing_else_readable(hidden, known):
    """Neither the files that must be hidden, nor any file outside the folders that are known to be there."""
    for path in hidden:
        if _readable(path):
            return f"it can read {path}"
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in known]
        for name in files:
            if os.path.join(folder, name) not in known:
                return f"there is a file it has no use for: {os.path.join(folder, name)}"
    return ""


def no_solutions_importable(packages):
    """The packages hold no copy of this course: the bundle's is the only one."""
    for folder in packages:
        for name in ("solutions", "autograder"):
            if os.path.exists(os.path.join(folder, name)):
                return f"{name} can be imported: install this project with `pip install -e`, which leaves no copy"
    return ""


def read_only(folders):
    """Nothing can be written but the two folders in memory, which are small."""
    for folder in folders:
        path = os.path.join(folder, "written-by-the-probe")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except OSError:
            continue
        os.unlink(path)
        return f"it can write to {folder}"
    return ""


def settings_locked():
    """No setting of the kernel's can be changed; none is, its file is only opened."""
    for folder, _, files in os.walk("/proc/sys"):
        for name in files:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
            except OSError:
                continue
            return f"it can change {os.path.join(folder, name)}"
    return ""


def little_disk(folders, disk_mb):
    """The writable folders are as small as the limits say."""
    for folder in folders:
        space = os.statvfs(folder)
        if space.f_blocks * space.f_frsize > disk_mb * 2**20:
            return f"it can write {space.f_blocks * space.f_frsize >> 20} MB to {folder}"
    return ""


def clean_environment(expected):
    """No variable of the caller's, neither our own nor those of the process that started us."""
    names = set(os.environ)
    try:
        with open("/proc/1/environ", encoding="utf-8") as environment:
            names |= {word.split("=")[0] for word in environment.read().split("\0") if word}
    except OSError:
        pass
    unexpected = names - set(expected)
    return f"it can see {', '.join(sorted(unexpected))}" if unexpected else ""


def own_processes_only():
    """/proc shows bwrap's first process and this one, and of the first nothing but that it is there."""
    if os.listdir("/proc/1"):
        return "it can reach the first process, which has no limits"
    seen = [name for name in os.listdir("/proc") if name.isdigit()]
    return "" if len(seen) <= 2 and os.getpid() == 2 else f"it can see {len(seen)} processes"


def little_told(covered):
    """What /proc tells of the machine, its command line for instance, is covered."""
    for path in covered:
        try:
            with open(path, "rb") as file:
                told = file.read(1)
        except OSError:
            continue
        if told:
            return f"it can read {path}"
    return ""


def no_new_process():
    """fork is refused; threads are not, and die with the process."""
    try:
        child = os.fork()
    except OSError:
        return ""
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "it can fork"


def no_rights():
    """An unprivileged user without capabilities, who can gain none, behind a system call filter."""
    with open("/proc/self/status") as status:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    if os.getuid() == 0 or int(fields["CapEff"], 16) or int(fields["CapBnd"], 16) or fields["NoNewPrivs"] != "1":
        return "it has rights over the system"
    return "" if fields["Seccomp"] == "2" else "no system call is filtered"


def no_locks():
    """Of the calls that are not allowed one that anybody may make elsewhere: each lock costs the kernel memory."""
    with open("/tmp/lock", "w") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX)
        except OSError:
            return ""
    return "it can lock files without a limit"


def limits_for_good():
    """No limit can be changed, not even lowered."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError):
        return ""
    return "it can change its limits"


def no_dump():
    """A crash dumps nothing, for which the kernel might start a program outside: see confine.py."""
    dumpable, set_dumpable = 3, 4
    libc = ctypes.CDLL(None)
    if libc.prctl(set_dumpable, 1) == 0:
        return "it can have its memory dumped"
    limited = resource.getrlimit(resource.RLIMIT_CORE) == (1, 1)
    return "" if limited or libc.prctl(dumpable) == 0 else "its memory is dumped in a crash"


def memory_limit(memory_mb):
    """Asking for all the memory there may be fails. Nothing is touched, so nothing is used if it does not."""
    try:
        mmap.mmap(-1, memory_mb * 2**20).close()
    except (MemoryError, OSError):
        return ""
    return f"it can have more than {memory_mb} MB"


def endless():
    """Stopped by the alarm."""
    while True:
        os.getpid()


def stubborn():
    """Not stopped by the alarm: only the grader's own patience ends it."""
    while True:
        try:
            endless()
        except BaseException:
            os.getpid()


def many_threads(threads):
    """Stopped by the grader, who counts the threads, where the kernel does not refuse them."""
    done = threading.Event()
    try:
        for _ in range(threads):
            threading.Thread(target=done.wait, daemon=True).start()
    except RuntimeError:
        return ""
    finally:
        time.sleep(1)
        done.set()
    return f"it can have more than {threads} threads"


def many_files(files):
    """Stopped by the grader, who counts the files."""
    for number in range(files):
        os.symlink("nothing", f"/tmp/probe-{number}")
    time.sleep(1)
    return f"it can make more than {files} files"


def _readable(path):
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError:
        return False
    return True
