"""Forks of one warm parent cannot see, reach or change each other, the parent, or later forks."""

import os
import secrets
import time

import numpy as np
import pytest

from autograder.sandbox import CHAPTER_DISTRIBUTIONS
from autograder.sandbox.process import Ended, Process
from check import values
from tests.attacks.conftest import SMALL
from tests.patience import SECONDS

pytestmark = [pytest.mark.attacks, pytest.mark.usefixtures("sandboxes")]

TOOLS = """
import ctypes, gc, os, random, re, signal, socket, sys, tempfile, uuid
import numpy as np

libc = ctypes.CDLL(None, use_errno=True)

def attempt(action):
    "Return what an action returns, or the type of the exception that it raises."
    try:
        return action()
    except BaseException as error:
        return type(error).__name__
"""


class Student:
    """A fork in which a test plays a student."""

    def __init__(self, bundle, distributions=CHAPTER_DISTRIBUTIONS):
        self.process = Process(bundle, SMALL, "bwrap", distributions)
        self.does(TOOLS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.end()

    def does(self, source):
        """Run a cell. It must not raise an exception."""
        reply, _ = self._ask({"do": "cell", "cell": "mine", "source": source, "checked": []}, [])
        assert reply["raised"] is None and not reply["stopped"], reply

    def finds(self, expression):
        """Return the value of an expression."""
        self.does(f"def f():\n    return {expression}\n")
        tree, arrays = values.pack({})
        call = {"do": "call", "function": "f", "inputs": tree, "functions": {}, "stand_ins": {}}
        reply, arrays = self._ask(call, arrays)
        assert reply["raised"] is None and not reply["stopped"], reply
        return values.unpack(reply["tree"], arrays)

    def _ask(self, message, arrays):
        return self.process.ask(message, arrays, seconds=SMALL.call_seconds, deadline=time.monotonic() + SECONDS)


@pytest.fixture
def two(bundle):
    """Two forks at the same time: an attacker and another student."""
    with Student(bundle) as attacker, Student(bundle) as victim:
        yield attacker, victim
        assert victim.finds("[1, 2]") == [1, 2]
        with Student(bundle) as later:
            assert later.finds("os.getpid()") == 2


NAMESPACES = (
    "{name: os.readlink('/proc/self/ns/' + name) for name in ('user', 'pid', 'mnt', 'ipc', 'net', 'uts', 'cgroup')}"
)


def test_forks_share_no_namespace(two, sandboxes):
    attacker, victim = (student.finds(NAMESPACES) for student in two)
    (parent,) = sandboxes
    for name, own in attacker.items():
        warm = os.readlink(f"/proc/{parent.bwrap.first_pid}/ns/{name}")
        assert len({own, victim[name], warm, os.readlink(f"/proc/self/ns/{name}")}) == 4, name


def test_a_fork_sees_only_its_own_processes(two):
    attacker, _ = two
    assert attacker.finds("sorted(name for name in os.listdir('/proc') if name.isdigit())") == ["1", "2"]
    assert attacker.finds("[os.getpid(), os.getppid(), os.getsid(0), os.getpgrp()]") == [2, 1, 2, 2]
    assert attacker.finds("[pid for pid in range(3, 5000) if attempt(lambda: os.kill(pid, 0)) is None]") == []


@pytest.mark.parametrize("call", ["os.kill(-1, 9)", "os.kill(1, 9)", "os.killpg(1, 9)", "os.kill(1, signal.SIGINT)"])
def test_no_signal_leaves_a_fork(two, call):
    attacker, _ = two
    assert attacker.finds(f"attempt(lambda: {call})") in (None, "ProcessLookupError", "PermissionError")


@pytest.mark.parametrize("call", ["os.kill(0, 9)", "os.killpg(0, 9)", "os.kill(os.getpid(), 9)"])
def test_a_fork_that_kills_its_group_kills_only_itself(two, call):
    attacker, _ = two
    with pytest.raises(Ended, match="was killed"):
        attacker.does(call)


def test_the_processes_above_a_fork_cannot_be_opened(two):
    attacker, _ = two
    assert attacker.finds("os.listdir('/proc/1')") == []
    for way in ("libc.ptrace(16, 1, 0, 0)", "libc.process_vm_readv(1, 0, 0, 0, 0, 0)", "libc.syscall(434, 1, 0)"):
        assert attacker.finds(way) == -1, way


def test_walls_cannot_be_taken_down(two):
    attacker, _ = two
    for way in (
        *("libc.umount2(b'/proc', 2)", "libc.umount2(b'/proc/1', 2)", "libc.umount2(b'/notebook', 2)"),
        *("libc.unshare(0x10000000)", "libc.pivot_root(b'/', b'/tmp')", "libc.chroot(b'/tmp')"),
        *("libc.setsid()", "libc.setuid(0)", "libc.socket(1, 1, 0)"),
        # Without a filter both would succeed, or fail for a reason other than an invalid argument.
        "libc.setns(os.open('/proc/self/ns/mnt', os.O_RDONLY), 0x20000)",
        "libc.capset((0x20080522).to_bytes(8, 'little'), bytes(24))",
    ):
        assert attacker.finds(way) == -1, way
    for path in ("/proc/self/uid_map", "/proc/self/oom_score_adj", "/proc/self/setgroups", "/dev/shm/x", "/runner/x"):
        assert attacker.finds(f"attempt(lambda: open({path!r}, 'w').write('x'))") in ("OSError", "PermissionError"), (
            path
        )


def test_a_fork_has_no_descriptors_but_its_pipes(two):
    links = "[attempt(lambda: os.readlink('/proc/self/fd/' + number)) for number in os.listdir('/proc/self/fd')]"
    attacker, victim = (
        [target for target in student.finds(links) if target != "FileNotFoundError"]  # an error about the folder itself
        for student in two
    )
    for found in (attacker, victim):
        assert found.count("/dev/null") == 3 and len(found) == 5
        assert all(target.startswith(("/dev/null", "pipe:")) for target in found)
    assert set(attacker) & set(victim) == {"/dev/null"}


def test_nothing_of_the_warm_process_is_left_in_a_fork(two):
    """The objects of the warm process name the descriptors and the processes of the other forks."""
    attacker, _ = two
    attacker.does("""
gc.unfreeze()
objects = gc.get_objects()
frames, frame = [], sys._getframe()
while frame:
    frames.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name)
    frame = frame.f_back
""")
    assert attacker.finds("[type(o).__name__ for o in objects if type(o).__name__ in ('Forker', 'Popen')]") == []
    assert attacker.finds("[o.fileno() for o in objects if isinstance(o, socket.socket) and o.fileno() >= 0]") == []
    assert not any("Forker" in name for name in attacker.finds("frames"))


def test_the_memory_of_a_fork_holds_nothing_of_an_earlier_one(bundle):
    word = f"CANARY-fork-{secrets.token_hex(4)}"
    with Student(bundle) as earlier:
        earlier.does(f"secret = {word!r} * 1000")
    with Student(bundle) as later:
        later.does("""
known = b"-".join([b"CANARY", b"own", b"01234567"])
found = set()
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
    for line in maps.readlines():
        first, last = (int(number, 16) for number in line.split()[0].split("-"))
        if " rw" in line:
            memory.seek(first)
            found |= set(re.findall(rb"CANARY-[a-z]+-[0-9a-f]{8}", memory.read(last - first)))
""")
        assert later.finds("[word.decode() for word in found]") == ["CANARY-own-01234567"]  # the search works


HARM = """
import builtins, check.values
open("/notebook/left", "w").close(); open("/tmp/left", "w").close(); open("left-too", "w").close()
os.environ["LEFT"] = "1"
os.chdir("/tmp")
np.sort = np.add = lambda *a, **k: None
np.random.seed(0); random.seed(0); np.seterr(all="raise")
sys.modules["left"] = sys; sys.path.insert(0, "/tmp")
signal.signal(signal.SIGALRM, signal.SIG_IGN)
ctypes.memset(id(np.pi) + 16, 0, 8)  # the very bytes of the constant, in a page that forks share until one writes to it
"""
MUTE = 'check.values.pack = sys.modules["inside.frames"].encode = builtins.sorted = None'  # it cannot reply now
TRACES = """[
    os.path.exists("/notebook/left"), os.path.exists("/tmp/left"), os.path.exists("left-too"), "LEFT" in os.environ,
    os.getcwd(), np.sort(np.array([2.0, 1.0])), "left" in sys.modules, "/tmp" in sys.path, np.geterr()["divide"],
    signal.getsignal(signal.SIGALRM) is signal.SIG_IGN, np.pi,
]"""


def test_what_a_fork_changes_reaches_no_other(bundle, two):
    attacker, victim = two
    attacker.does(HARM)
    assert attacker.finds("[np.pi, os.path.exists('/tmp/left')]") == [0.0, True]
    with Student(bundle) as harmed, pytest.raises(Ended):
        harmed.does(HARM + MUTE)
        harmed.finds("1")
    with Student(bundle) as later:
        for student in (victim, later):
            *untouched, cwd, ordered, module, path, divide, handler, pi = student.finds(TRACES)
            assert untouched == [False] * 4 and cwd == "/notebook" and divide != "raise"
            assert not (module or path or handler) and pi == np.pi
            np.testing.assert_array_equal(ordered, [1.0, 2.0])


RANDOM = """[random.random(), float(np.random.rand()), float(np.random.default_rng().random()), str(uuid.uuid4()),
    os.urandom(8).hex(), next(tempfile._get_candidate_names()), random.SystemRandom().random()]"""


def test_forks_draw_different_random_numbers(two):
    drawn = [student.finds(RANDOM) for student in two]
    assert all(one != other for one, other in zip(*drawn, strict=True)), drawn


@pytest.mark.thorough("the same for PyTorch as for NumPy")
def test_forks_with_pytorch_draw_different_random_numbers(bundle):
    drawn = []
    for _ in range(2):
        with Student(bundle, (*CHAPTER_DISTRIBUTIONS, "torch")) as student:
            student.does("import torch")
            drawn.append(student.finds("[float(torch.rand(1)), float(torch.nn.Linear(1, 1).weight)]"))
    assert drawn[0] != drawn[1] and drawn[0][0] != drawn[1][0]


def test_a_fork_has_limits_of_its_own(two):
    """Without a user namespace of its own the kernel would count the processes of all forks together."""
    attacker, victim = two
    start = "import threading\ndone = threading.Event()\n"
    start += "threads = [threading.Thread(target=done.wait, daemon=True) for _ in range(3)]\n"
    start += "for thread in threads:\n    thread.start()\n"
    for student in (attacker, victim):
        student.does(start)
    for student in (attacker, victim):
        student.does("done.set()")
    assert attacker.finds("attempt(lambda: bytearray(2**30))") == "MemoryError"


def test_the_command_line_of_a_fork_tells_nothing(two, bundle, course):
    attacker, _ = two
    told = attacker.finds("open('/proc/self/cmdline').read() + open('/proc/self/environ').read()")
    assert "inside.forking" in told
    for secret in (str(bundle.parent), str(course), "token", "seed"):
        assert secret not in told
