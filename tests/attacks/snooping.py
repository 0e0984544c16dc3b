"""Attacks that read what they must not: the course, other students' work, other processes, the machine.

Each looks for canaries, which are words that the test has planted, and reports how many it has found.
"""

from tests.attacks.attack import Attack

# Reports what it found in every possible way: in an exception, by printing, and in a file.
TELL = """
import os, re, sys

secrets = set()

def look_at(data):
    secrets.update(match.decode() for match in re.findall(rb"CANARY-[a-z]+-[0-9a-f]{8}", data))

def look_into(path, most=2**22):
    try:
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            look_at(file.read(most) or b"")
    except (OSError, ValueError):
        pass

def attempt(*args, **kwargs):
    message = f"found {len(secrets)}: {sorted(secrets)}"
    print(message)
    print(message, file=sys.stderr)
    with open("secrets.txt", "w") as file:
        file.write(message)
    raise RuntimeError(message)
"""
NOTHING = "found 0: []"


def _search(what, source, stock=False):
    return Attack(what, TELL + source, NOTHING, stock)


SNOOPING = (
    _search(
        "reads the seed, the gradebook, the sources and other submissions",
        """
from pathlib import Path
places = ["{course}", "..", "../..", "../../..", "../../../..", "/proc/self/cwd/../../..", "/proc/self/root/{course}"]
for place in places:
    for name in ("secret_seed", "gradebook.db", "reports"):
        look_into(f"{place}/{name}")
    for folder in ("source", "submitted", "autograded", "feedback", "reports", "release"):
        for path in Path(place, folder).rglob("*"):
            look_into(path)
""",
        stock=True,
    ),
    _search(
        "runs the solution in the folder next to it",
        """
import json
from pathlib import Path
solutions = [*Path("../../..").glob("source/*/*.ipynb"), *Path("{course}").glob("source/*/*.ipynb")]
for path in solutions:
    for cell in json.loads(path.read_text())["cells"]:
        if "def softmax" in "".join(cell["source"]):
            exec("".join(cell["source"]))
            secrets.add(str(path))
if secrets:
    attempt = softmax
""",
        stock=True,
    ),
    _search(
        "writes its own score into the gradebook",
        """
import sqlite3
for place in ("../../..", "{course}"):
    if os.path.exists(f"{place}/gradebook.db"):
        secrets.add(place)
        with sqlite3.connect(f"{place}/gradebook.db", timeout=5) as book:
            book.execute(
                "update grade set manual_score = 4 where notebook_id in (select n.id from submitted_notebook n join"
                " submitted_assignment a on n.assignment_id = a.id where a.student_id = ?)",
                [os.getcwd().split("/")[-2]],
            )
""",
        stock=True,
    ),
    _search(
        "imports the solutions, the exercises and the keys",
        """
import importlib, pkgutil
for name in ("solutions.attention", "autograder.exercises.attention", "autograder.authoring.make_key",
             "autograder.course.seed"):
    try:
        if importlib.import_module(name).__file__:  # a folder of public keys has the name of one of our modules
            secrets.add(name)
    except ImportError:
        pass
for finder in list(sys.path) + ["/packages", "{repo}"]:
    for module in pkgutil.iter_modules([f"{finder}/solutions", f"{finder}/autograder/exercises"]):
        secrets.add(module.name)
""",
    ),
    _search(
        "walks the whole file system, also through links that it makes",
        """
for at, target in enumerate(("{course}", "{repo}", "/root", "/home", "/proc/self/root", "/proc/1/root")):
    try:
        os.symlink(target, f"link-{at}")
    except OSError:
        pass
for top in ("/", *(f"link-{at}/" for at in range(6))):
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in ("proc", "sys", "usr", "lib", "lib64", "packages")]
        for name in files:
            look_into(os.path.join(folder, name))
""",
    ),
    _search(
        "reads environments and command lines, also of its parents",
        """
look_at(repr(dict(os.environ)).encode())
for name in os.listdir("/proc"):
    for part in ("environ", "cmdline", "comm", "mountinfo"):
        look_into(f"/proc/{name}/{part}")
        look_into(f"/proc/{name}/task/{name}/{part}")
""",
        stock=True,
    ),
    _search(
        "reads the memory of the processes above it",
        """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
others = [name for name in os.listdir("/proc") if name.isdigit() and name != str(os.getpid())]
for other in {*others, "1", str(os.getppid())}:
    libc.ptrace(16, int(other), 0, 0)
    buffer = ctypes.create_string_buffer(4096)
    pieces = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 4096), (ctypes.c_size_t * 2)(0x400000, 4096)
    if libc.process_vm_readv(int(other), pieces[0], 1, pieces[1], 1, 0) > 0:
        secrets.add("a page of process " + other)
    try:
        with open(f"/proc/{other}/maps") as maps, open(f"/proc/{other}/mem", "rb", buffering=0) as memory:
            for line in maps:
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                if " rw" in line:
                    memory.seek(start)
                    look_at(memory.read(end - start))
                    secrets.add("the memory of process " + other)
    except (OSError, ValueError, OverflowError):
        pass
for path in ("/dev/mem", "/dev/kmem", "/proc/kcore", "/dev/kmsg", "/proc/kmsg"):
    try:
        os.close(os.open(path, os.O_RDONLY))
        secrets.add(path)
    except OSError:
        pass
""",
    ),
    _search(
        "opens every descriptor that it has or can guess",
        """
for folder in ("/proc/self/fd", "/proc/1/fd", f"/proc/{os.getppid()}/fd"):
    for number in range(256):
        try:
            target = os.readlink(f"{folder}/{number}")
        except OSError:
            continue
        if not target.startswith(("pipe:", "/dev/null", "/proc")):
            secrets.add(target)
""",
    ),
)

CONNECTING = _search(
    "connects to servers on the machine, by every kind of socket",
    """
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_INET, ("0.0.0.0", {port})),
                        (socket.AF_INET6, ("::1", {port})), (socket.AF_UNIX, "{unix}"),
                        (socket.AF_UNIX, "\\0{abstract}")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(family, kind) as one:
                one.settimeout(0.5)
                one.connect(address)
                one.send(b"22.0")
                if kind == socket.SOCK_STREAM:
                    secrets.add(f"CANARY-socket-{family:08x}")
        except OSError:
            pass
for family in range(1, 46):
    try:
        socket.socket(family, socket.SOCK_RAW).close()
        secrets.add(f"socket family {family}")
    except OSError:
        pass
try:
    with socket.create_server(("127.0.0.1", 0)):
        secrets.add("a server of its own")
except OSError:
    pass
""",
)

WRITING = _search(
    "writes to every folder that outlives it",
    """
home = os.path.expanduser("~")
folders = ["{course}", "{course}/submitted", "{course}/release", "{repo}", "{repo}/tests", "{tmp}", "/", "/etc",
           "/bin", "/root", "/home", "/var/tmp", "/var/spool/cron", "/dev", "/dev/shm", "/run", "/proc", "/sys",
           "/usr/lib", "/runner", "/bundle", "/packages", "/packages/numpy", sys.prefix, os.path.dirname(os.__file__),
           *sys.path]
for folder in filter(None, folders):
    path = f"{folder}/{token}"
    for make in (lambda: os.close(os.open(path, os.O_CREAT | os.O_WRONLY)), lambda: os.mkdir(path),
                 lambda: os.symlink("x", path), lambda: os.link("/bundle/README.txt", path), lambda: os.mkfifo(path),
                 lambda: os.utime(folder), lambda: os.chmod(folder, 0o777)):
        try:
            make()
            secrets.add(folder)
        except OSError:
            pass
for path in ("/bundle/README.txt", "/runner/check/values.py", "/usr/lib/os-release", np.__file__, os.__file__):
    for harm in (lambda: os.close(os.open(path, os.O_WRONLY | os.O_APPEND)), lambda: os.chmod(path, 0o666),
                 lambda: os.rename(path, path + "{token}"), lambda: os.setxattr(path, "user.{token}", b"1")):
        try:
            harm()
            secrets.add(path)
        except OSError:
            pass
for folder, folders, files in os.walk("/proc/sys"):
    for name in files:
        try:
            os.close(os.open(os.path.join(folder, name), os.O_WRONLY))  # opened, never written
            secrets.add(os.path.join(folder, name))
        except OSError:
            pass
open("/tmp/{token}", "w").close()
open("/notebook/{token}", "w").close()
""",
)
