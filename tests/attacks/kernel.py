"""Attacks on the kernel: calls that reach other processes, use memory that no limit counts, or weaken the sandbox.

Each asks for one thing and returns what it got. All share one sandbox.
"""

from tests.attacks.attack import Attack

# The numbers of calls are those of x86_64.
TOOLS = """\
import ctypes, errno, fcntl, mmap, os, resource, signal, struct, sys

libc = ctypes.CDLL(None, use_errno=True)

def calls(*numbers, arguments=(0,) * 6):
    "Return those of some calls that were not refused."
    allowed = []
    for number in numbers:
        ctypes.set_errno(0)
        words = [word if isinstance(word, bytes) else ctypes.c_long(word) for word in arguments]
        if libc.syscall(ctypes.c_long(number), *words) != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
            allowed.append(number)
    return allowed

def does(action):
    "Return [the result] of an action if it was not refused, or else []."
    try:
        return [repr(action())]
    except (OSError, ValueError):
        return []

def a_file():
    return open("/tmp/a-file", "w+b")
"""


def _asks(what, expression):
    return Attack(what, f"def attempt():\n    return {expression}\n")


KERNEL = (
    _asks("locks a range of a file", "does(lambda: fcntl.lockf(a_file(), fcntl.LOCK_EX))"),
    _asks("waits for a lock", "does(lambda: fcntl.fcntl(a_file(), fcntl.F_SETLKW, bytes(32)))"),
    _asks("locks by open file", "does(lambda: fcntl.fcntl(a_file(), 37, struct.pack('hhqqi', 1, 0, 0, 1, 0)))"),
    _asks("locks a whole file", "does(lambda: fcntl.flock(a_file(), fcntl.LOCK_EX))"),
    _asks("leases a file", "does(lambda: fcntl.fcntl(a_file(), fcntl.F_SETLEASE, fcntl.F_WRLCK))"),
    _asks(
        "asks to be notified of changes in a folder", "does(lambda: fcntl.fcntl(os.open('/', 0), fcntl.F_NOTIFY, 1))"
    ),
    _asks("has signals sent for a descriptor", "does(lambda: fcntl.fcntl(a_file(), fcntl.F_SETOWN, 1))"),
    _asks("makes a pipe larger", "does(lambda: fcntl.fcntl(os.pipe()[0], 1031, 2**20))"),
    _asks("types into a terminal", "does(lambda: fcntl.ioctl(0, 0x5412, b'x'))"),
    _asks("asks a device for its features", "does(lambda: fcntl.ioctl(a_file(), 0x5460, bytes(8)))"),
    _asks("makes timers", "calls(222, 223, 283)"),
    _asks("makes message queues", "calls(240, arguments=(b'/queue', 0o102, 0o600, 0))"),
    _asks("makes queues of System V", "calls(29, 64, 68, arguments=(0, 4096, 0o1600))"),
    _asks("watches files", "calls(253, 254, 294, 300, 301)"),
    _asks("collects events", "calls(213, 284, 289, 290, 291, 282)"),
    _asks("hides memory in a file without a name", "calls(319, 447, arguments=(b'hidden', 0))"),
    _asks("locks memory", "calls(149, 151, 325, arguments=(4096, 4096, 0))"),
    _asks("moves pages between descriptors", "calls(275, 276, 278, arguments=(0, 0, 1, 0, 4096, 0))"),
    _asks("keeps keys", "calls(248, 249, 250, arguments=(b'user', b'name', b'secret', 6, -3))"),
    _asks("loads programs into the kernel", "calls(298, 321, 323)"),
    _asks("loads modules into the kernel", "calls(175, 176, 246, 313, 320)"),
    _asks("gives work to the kernel's own threads", "calls(206, 207, 209, 425, 426, 427)"),
    _asks("makes namespaces", "calls(272, arguments=(0x10000000,)) + calls(308)"),
    _asks("mounts", "calls(155, 161, 165, 166, 428, 429, 430, 431, 432, 433, 442)"),
    _asks("opens files by their handles", "calls(303, 304)"),
    _asks("looks into other processes", "calls(101, 310, 311, 312, 434, 438, 440, arguments=(16, 1, 0, 0))"),
    _asks("queues signals with data", "calls(129, 297, arguments=(2, 34, 0))"),
    _asks(
        "changes its user, its groups and its capabilities",
        "calls(105, 106, 113, 114, 116, 117, 119, 126, 135, arguments=(0, 0, 0))",
    ),
    _asks("leaves its session", "calls(109, 112)"),
    _asks("changes its priority", "calls(141, 142, 144, 203, 251, 314, arguments=(0, 0, 0))"),
    _asks("makes pipes with names, and devices", "does(lambda: os.mkfifo('/tmp/p')) + calls(133, 259)"),
    _asks("gives a file a second name", "a_file().close() or does(lambda: os.link('/tmp/a-file', '/tmp/other'))"),
    _asks("hides words in a file's attributes", "does(lambda: os.setxattr('/tmp', 'user.x', b'1'))"),
    _asks("changes the owner of a file", "does(lambda: os.chown('/tmp', 0, 0))"),
    _asks("opens sockets", "calls(41, 53, arguments=(1, 1, 0))"),
    _asks("starts another program", "does(lambda: os.execv('/proc/self/exe', ['python', '-c', '']))"),
    _asks("starts another program by a descriptor", "calls(322, arguments=(-100, b'/proc/self/exe', 0, 0, 0))"),
    _asks("lets a crash dump core", "does(lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))"),
    _asks("changes its limits by the older call", "calls(160, arguments=(4, bytes(16)))"),
    _asks("lets itself be dumped", "[code for code in (libc.prctl(4, 1, 0, 0, 0), libc.prctl(59, 1)) if code != -1]"),
    _asks("adds a filter of its own", "[0] * (libc.prctl(22, 1) != -1) + calls(317)"),
    _asks("outlives the process that started it", "[0] * (libc.prctl(1, 0) != -1) + [0] * (libc.prctl(36, 1) != -1)"),
    _asks("reads the kernel's messages, the clock's adjustment and quotas", "calls(103, 159, 163, 179, 227, 305)"),
    _asks("ends or stops the machine", "calls(169, 167, 168, arguments=(0, 0, 0, 0))"),
    _asks("makes a thread that is a process", "calls(56, 57, 58, 435, arguments=(17, 0, 0, 0, 0))"),
    _asks("makes calls of future kernels", "calls(*range(443, 600))"),
    _asks(
        "reads files of /proc about the machine",
        "[name for name in ('cmdline', 'config.gz', 'diskstats', 'interrupts', 'kallsyms', 'keys', 'locks', 'modules')"
        " if does(lambda: open('/proc/' + name).read(1))]",
    ),
    _asks(
        "looks for the folders that packages were installed from",
        "[path for path, _, names in os.walk('/packages') if 'direct_url.json' in names or path.endswith('-info')]",
    ),
)
