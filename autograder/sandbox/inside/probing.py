"""Code that the probe runs in the sandbox like a student's code. Each function tries to break one promise.

It returns "" if the promise is kept, or else what it could do. The probe sends this file as the source of a cell. No
code outside imports it, and it does no harm if a promise is broken.
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


def no_network(port: int, interfaces: list[str]) -> str:
    """Look for other interfaces than these, and connect to a port of the grader's 127.0.0.1."""
    with open(INTERFACES) as table:
        names = {line.split(":")[0].strip() for line in table if ":" in line}
    if names - set(interfaces):
        return f"it can see network interfaces: {', '.join(sorted(names))}"
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return ""
    return "it can reach a server outside"


def nothing_else_readable(hidden: list[str], known: list[str]) -> str:
    """Read the files that must be hidden, and look for files outside the folders that must be visible."""
    for path in hidden:
        if _readable(path):
            return f"it can read {path}"
    for folder, folders, files in os.walk("/"):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in known]
        for name in files:
            if os.path.join(folder, name) not in known:
                return f"it can see a file that it does not need: {os.path.join(folder, name)}"
    return ""


def no_solutions_importable(packages: list[str]) -> str:
    """Look for a copy of this course among the packages. Only the bundle may contain one."""
    for folder in packages:
        for name in ("solutions", "autograder"):
            if os.path.exists(os.path.join(folder, name)):
                return f"it can import {name}: install this project with `pip install -e`, which leaves no copy"
    return ""


def read_only(folders: list[str]) -> str:
    """Write to folders other than the two small folders in memory."""
    for folder in folders:
        path = os.path.join(folder, "written-by-the-probe")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
        except OSError:
            continue
        os.unlink(path)
        return f"it can write to {folder}"
    return ""


def settings_locked() -> str:
    """Open the kernel's settings for writing, without writing."""
    for folder, _, files in os.walk("/proc/sys"):
        for name in files:
            try:
                os.close(os.open(os.path.join(folder, name), os.O_WRONLY))
            except OSError:
                continue
            return f"it can change {os.path.join(folder, name)}"
    return ""


def little_disk(folders: list[str], disk_mb: int) -> str:
    """Compare the size of the writable folders with the limit."""
    for folder in folders:
        space = os.statvfs(folder)
        if space.f_blocks * space.f_frsize > disk_mb * 2**20:
            return f"it can write {space.f_blocks * space.f_frsize >> 20} MB to {folder}"
    return ""


def clean_environment(expected: list[str]) -> str:
    """Look for the grader's environment variables, in this process and in the first one."""
    names = set(os.environ)
    try:
        with open("/proc/1/environ", encoding="utf-8") as environment:
            names |= {word.split("=")[0] for word in environment.read().split("\0") if word}
    except OSError:
        pass
    unexpected = names - set(expected)
    return f"it can see {', '.join(sorted(unexpected))}" if unexpected else ""


def own_processes_only() -> str:
    """Look for processes other than this one and the first process, bwrap's, which may show only its name."""
    if os.listdir("/proc/1"):
        return "it can reach the first process, which has no limits"
    seen = [name for name in os.listdir("/proc") if name.isdigit()]
    return "" if len(seen) <= 2 and os.getpid() == 2 else f"it can see {len(seen)} processes"


def little_told(covered: list[str]) -> str:
    """Read the files of /proc that reveal facts about the machine, such as the kernel's command line."""
    for path in covered:
        try:
            with open(path, "rb") as file:
                content = file.read(1)
        except OSError:
            continue
        if content:
            return f"it can read {path}"
    return ""


def no_new_process() -> str:
    """Fork. Threads are allowed, since they die with the process."""
    try:
        child = os.fork()
    except OSError:
        return ""
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "it can fork"


def no_rights() -> str:
    """Look for root, for capabilities or a way to gain them, and for a missing system call filter."""
    with open("/proc/self/status") as status:
        fields = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
    if os.getuid() == 0 or int(fields["CapEff"], 16) or int(fields["CapBnd"], 16) or fields["NoNewPrivs"] != "1":
        return "it has rights over the system"
    return "" if fields["Seccomp"] == "2" else "it can make every system call"


def no_locks() -> str:
    """Lock a file. Without a filter any process may do so, and each lock uses kernel memory."""
    with open("/tmp/lock", "w") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX)
        except OSError:
            return ""
    return "it can lock files without a limit"


def limits_for_good() -> str:
    """Change a limit, even to a lower value."""
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (OSError, ValueError):
        return ""
    return "it can change its limits"


def no_dump() -> str:
    """Allow core dumps, for which the kernel might start a program outside; see confine.py."""
    dumpable, set_dumpable = 3, 4
    libc = ctypes.CDLL(None)
    if libc.prctl(set_dumpable, 1) == 0:
        return "it can have its memory dumped"
    limited = resource.getrlimit(resource.RLIMIT_CORE) == (1, 1)
    return "" if limited or libc.prctl(dumpable) == 0 else "it can have its memory dumped by crashing"


def memory_limit(memory_mb: int) -> str:
    """Ask for as much memory as the limit, although Python already uses some. The memory itself is never touched."""
    try:
        mmap.mmap(-1, memory_mb * 2**20).close()
    except (MemoryError, OSError):
        return ""
    return f"it can have more than {memory_mb} MB"


def endless() -> str:
    """Run until the alarm stops it."""
    while True:
        os.getpid()


def stubborn() -> str:
    """Run on after the alarm, until the grader kills the process."""
    while True:
        try:
            endless()
        except BaseException:
            os.getpid()


def many_threads(threads: int) -> str:
    """Start threads until the kernel refuses one, or until the grader, which counts them, stops this process."""
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


def many_files(files: int) -> str:
    """Create files until the grader, which counts them, stops this process."""
    for number in range(files):
        os.symlink("nothing", f"/tmp/probe-{number}")
    time.sleep(1)
    return f"it can make more than {files} files"


def _readable(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError:
        return False
    return True
