"""A thread that grades many submissions does so in a process of its own, which borrows warm sandboxes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from autograder.grading import own_process
from autograder.grading.client import Threads
from autograder.layout import REPO
from autograder.sandbox import Call, Cell, MachineTooBusy, SandboxUnavailable, bubblewrap, run, sharing, warm
from tests.patience import PATIENT, SECONDS

pytestmark = pytest.mark.grading
DOUBLED = "def doubled(x):\n    return 2 * x"
X = np.arange(3.0)


def fails():
    raise ValueError("in line 3")


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


def run_in_sandbox(bundle):
    """Run a right function in the sandbox; return its value and the names of this process's children."""
    result = run([Cell("mine", DOUBLED)], [Call("doubled", {"x": X})], bundle=bundle, limits=PATIENT)
    assert result.notes == []
    return result.outcomes[0].value, [child.name() for child in psutil.Process().children()]


def run_twice_with_loans_of_one(bundle):
    warm.FORKS = sharing.FORKS - sharing.LOAN + 1
    for _ in range(2):
        run_in_sandbox(bundle)


@pytest.fixture
def bundle(tmp_path):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "check").mkdir()
    return tmp_path


@pytest.fixture
def apart(monkeypatch):
    """apart(function, *arguments) -> the value of a call in the process of a thread."""
    monkeypatch.setattr(own_process, "CALLS_BEFORE_OWN_PROCESS", 0)
    thread = Threads(1)

    def apart(function, *arguments):
        return thread.submit(own_process.call, function, *arguments, pure=False).result()

    yield apart
    os.kill(apart(os.getpid), signal.SIGKILL)


def test_a_thread_starts_its_process_after_a_few_submissions(apart, monkeypatch):
    monkeypatch.setattr(own_process, "CALLS_BEFORE_OWN_PROCESS", 2)
    pids = [apart(os.getpid) for _ in range(5)]
    assert pids[:2] == [os.getpid()] * 2
    assert len(set(pids)) == 2 and pids[2] == pids[3] == pids[4]


def test_other_threads_have_none(monkeypatch):
    """A worker of a cluster is a process of its own."""
    monkeypatch.setattr(own_process, "CALLS_BEFORE_OWN_PROCESS", 0)
    assert own_process.call(os.getpid) == os.getpid()


def test_an_exception_arrives_with_its_traceback(apart):
    with pytest.raises(ValueError, match="in line 3") as failed:
        apart(fails)
    assert "in fails" in failed.value.__notes__[0]
    assert apart(abs, -2) == 2


def test_after_a_death_there_is_a_new_process(apart):
    first = apart(os.getpid)
    with pytest.raises(MachineTooBusy, match="was killed"):
        apart(dies)
    assert apart(os.getpid) not in (first, os.getpid())


def test_the_interrupt_of_a_terminal_is_left_to_the_command(apart):
    assert apart(os.getsid, 0) != os.getsid(0)


SCRIPT = """\
from autograder.grading import own_process
own_process.CALLS_BEFORE_OWN_PROCESS = 0
own_process.allow_for_this_thread()
print(own_process.call(abs, -2))
"""


def test_a_script_that_grades_runs_only_once(tmp_path):
    script = tmp_path / "grade_all.py"
    script.write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, str(script)], env=os.environ | {"PYTHONPATH": str(REPO)}, capture_output=True, text=True
    )
    assert (ran.stdout, ran.stderr) == ("2\n", "")


def test_a_warm_sandbox_is_borrowed(apart, bundle, sandboxes):
    for _ in range(2):
        value, children = apart(run_in_sandbox, bundle)
        np.testing.assert_array_equal(value, 2 * X)
        assert children == []
    (parent,) = sandboxes
    assert parent.forks == 1 + sharing.LOAN


def test_a_loan_ends_after_some_forks(apart, bundle, sandboxes):
    apart(run_twice_with_loans_of_one, bundle)
    (parent,) = sandboxes
    assert parent.forks == 1 + 2 * sharing.LOAN


def test_another_is_borrowed_if_one_has_died(apart, bundle, sandboxes):
    apart(run_in_sandbox, bundle)
    (first,) = sandboxes
    first.bwrap.kill()
    first.bwrap.popen.wait()
    value, _ = apart(run_in_sandbox, bundle)
    np.testing.assert_array_equal(value, 2 * X)
    assert [*sandboxes] != [first]


def test_where_none_is_allowed_a_run_starts_a_process(apart, bundle, none_warm, caplog):
    value, _ = apart(run_in_sandbox, bundle)
    np.testing.assert_array_equal(value, 2 * X)
    assert caplog.records == []


def test_one_that_was_tried_and_fails_is_an_error(apart, bundle, sandboxes, monkeypatch):
    sandboxes.prove()
    monkeypatch.setattr(bubblewrap, "warm_parent_arguments", lambda *a: ["--no-such-option"])
    with pytest.raises(SandboxUnavailable, match="no-such-option"):
        apart(run_in_sandbox, bundle)


COMMAND = """\
import os, signal, sys, threading, time
from pathlib import Path
from autograder.grading import own_process
from autograder.sandbox.warm import sandboxes
from tests.autograder.grading.test_own_process import run_in_sandbox
own_process.CALLS_BEFORE_OWN_PROCESS = 0
own_process.allow_for_this_thread()
own_process.call(run_in_sandbox, Path(sys.argv[1]))
(parent,) = sandboxes
print(own_process.call(os.getpid), parent.bwrap.first_pid, flush=True)
"""


KILLED = "os.kill(os.getpid(), signal.SIGKILL)"
KILLED_MEANWHILE = f"threading.Timer(0.5, lambda: {KILLED}).start()\nown_process.call(time.sleep, 10**6)"


@pytest.mark.parametrize("end", [KILLED, KILLED_MEANWHILE, "", "raise KeyboardInterrupt"])
def test_nothing_outlives_the_command(bundle, end):
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND + end, str(bundle)], cwd=REPO, capture_output=True, text=True, timeout=SECONDS
    )
    pids = ended.stdout.split()
    assert len(pids) == 2, ended.stderr
    deadline = time.monotonic() + SECONDS
    while any(Path("/proc", pid).exists() for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)
