"""Attacks on the process, the machine and the grader's patience. They run only in the sandbox, with small limits."""

from tests.attacks.attack import Attack

# One exercise does the harm, so an endless attack is stopped once; the others return nothing.
CELL = """\
import ctypes, os, signal, sys, threading, time

def attempt(*args, **kwargs):
    return harm() if "n_words" in kwargs else None

def compute():
    while True:  # without taking memory, or that limit would stop it first
        pass

def harm():
"""


ENDLESS = "of processor time"
WAITING = "waited longer than"


def _breaks(what, body, words):
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return Attack(what, CELL + lines + "\n", words, endless=words == ENDLESS, waits=words == WAITING)


BREAKING = (
    _breaks(
        "ends the process with the exit status of success", "os._exit(0)", "ended the Python process (exit status 0)"
    ),
    Attack("ends the process in a cell", "import os\nos._exit(0)", "ended the Python process (exit status 0)"),
    _breaks("kills itself", "os.kill(os.getpid(), 9)", "was killed"),
    _breaks(
        "kills everything it can see",
        "for number in range(1, 65):\n    for process in (1, -1, 0, os.getppid()):\n        try:\n"
        "            os.kill(process, number)\n        except OSError:\n            pass\nreturn 1",
        "",
    ),
    _breaks("stops itself and waits", "os.kill(os.getpid(), signal.SIGSTOP)", WAITING),
    _breaks("reads from address zero", "ctypes.string_at(0)", "crashed the Python process"),
    _breaks("closes every descriptor", "os.closerange(0, 1000)\nreturn 1", ""),
    _breaks(
        "forks, in six ways",
        """
import multiprocessing, subprocess
started = []
ways = (os.fork, os.forkpty, lambda: ctypes.CDLL(None).vfork(), lambda: ctypes.CDLL(None).syscall(56, 17, 0, 0, 0, 0),
        lambda: subprocess.Popen([sys.executable]), lambda: os.posix_spawn("/proc/self/exe", ["python"], {}))
for way in ways:
    try:
        pid = way()
    except OSError:
        continue
    if pid == 0:
        os._exit(0)
    if pid != -1:
        started.append(pid)
raise RuntimeError(f"started {len(started)} processes")
""",
        "started 0 processes",
    ),
    _breaks(
        "leaves behind a detached child that keeps writing",
        """
try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                open("/notebook/{token}", "a").write("on")
        os._exit(0)
except OSError as error:
    raise RuntimeError(f"no child: {error.strerror}")
""",
        "no child: Operation not permitted",
    ),
    _breaks(
        "starts threads without end",
        "threading.stack_size(32768)\nwhile True:\n    threading.Thread(target=time.sleep, args=(60,)).start()",
        "",  # either the kernel refuses a thread, or the grader counts too many threads
    ),
    _breaks(
        "leaves behind a thread that never ends",
        "threading.Thread(target=compute, daemon=False).start()\nreturn 1",
        "",
    ),
    _breaks(
        "swallows every exception that would stop it",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        ENDLESS,
    ),
    _breaks(
        "turns off the alarm and computes",
        "signal.setitimer(signal.ITIMER_PROF, 0)\nsignal.signal(signal.SIGPROF, signal.SIG_IGN)\nwhile True:\n    pass",
        ENDLESS,
    ),
    _breaks("sleeps", "time.sleep(600)", WAITING),
    _breaks(
        "computes in threads while it sleeps",
        "for _ in range(2):\n    threading.Thread(target=compute, daemon=True).start()\ntime.sleep(600)",
        ENDLESS,
    ),
    _breaks("spends its time in one long call into C", "return sum(range(10**12))", ENDLESS),
    _breaks("matches a pattern that takes practically forever", "import re\nre.match('(a*)*b', 'a' * 60)", ENDLESS),
    _breaks("computes a number with 370 million digits", "return 9 ** 9 ** 9", ENDLESS),
    _breaks("asks for fifty gigabytes", "return np.ones(50 * 2**27)", "of memory"),
    _breaks(
        "writes to memory until there is none",
        "kept = []\nwhile True:\n    kept.append(bytearray(2**22))",
        "of memory",
    ),
    _breaks(
        "takes memory until there is none",
        "kept = []\nwhile True:\n    kept.append(np.empty(2**22))",
        "of memory",
    ),
    _breaks(
        "takes memory that is shared, mapped or hidden",
        "import mmap\nkept = []\nwhile True:\n    kept.append(mmap.mmap(-1, 2**24))\n    kept[-1][:] = bytes(2**24)",
        "",
    ),
    _breaks(
        "fills the disk",
        """
kept, size = [], 0
try:
    for number in range(10**4):
        for folder in ("/notebook", "/tmp"):
            kept.append(open(f"{folder}/{number % 2}", "ab", buffering=0))
            size += kept.pop().write(bytes(2**20))
except OSError as error:
    raise RuntimeError(f"{error.strerror} after {size < 2**25}")
""",
        "",
    ),
    _breaks(
        "makes files without end",
        "ctypes.CDLL(None).prctl(4, 0)  # so that no process can inspect it\n"
        "for number in range(10**9):\n    os.symlink('x', f'/tmp/{number}')",
        "made more than 10000 files",
    ),
    _breaks(
        "prints without end",
        "while True:\n    print('x' * 10**6)\n    os.write(1, b'x' * 10**6)\n    os.write(2, b'x' * 10**6)",
        ENDLESS,
    ),
    _breaks("returns a gigabyte", "return np.zeros(2**27)", ""),
    _breaks("raises a message of a hundred megabytes", "raise ValueError('x' * 10**8)", "ValueError: x"),
    _breaks("recurses until the stack is gone", "sys.setrecursionlimit(10**9)\nreturn harm()", ""),
    _breaks("recurses in C", "nested = ()\nfor _ in range(10**7):\n    nested = (nested,)\nreturn repr(nested)", ""),
    _breaks(
        "removes Python's modules and built-in functions while its caller needs them",
        "import builtins, gc\nsys.modules.clear()\nvars(builtins).clear()\nreturn 1",
        "",
    ),
    _breaks(
        "raises an exception that cannot be described",
        """
class Bad(BaseException):
    __str__ = __repr__ = lambda self: 1 / 0
    __class__ = property(lambda self: 1 / 0)
    __traceback__ = None
raise Bad
""",
        "",
    ),
    Attack(
        "sends control codes to the terminal that shows its report",
        "TYPE = type('\\x1b[2JType\\x07\\u202e', (Exception,), {})\n\n"
        "def attempt(*args, **kwargs):\n"
        "    if 'n_words' in kwargs:\n        return TYPE()\n"
        "    raise TYPE('\\x1b]0;22 of 22 points\\x07' + args[0] if args else '')  # \x1b[2J\n\n"
        "raise TYPE('\\x1b[1A\\x1b[2K22 of 22 points')  # \x1b[2J\n",
        "Type",
    ),
    _breaks(
        "raises its own limits",
        """
import resource
for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
    for limits in ((-1, -1), (2**40, 2**40)):
        for process in (0, 1, os.getppid()):
            try:
                resource.prlimit(process, kind, limits)
            except (OSError, ValueError):
                continue
            if process == 0:
                raise RuntimeError("raised a limit")
raise RuntimeError("raised no limit")
""",
        "raised no limit",
    ),
)
