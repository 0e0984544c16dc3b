"""Runs share a warm parent, which is tried before it is used, replaced when it dies, and ended in time."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest

from autograder.layout import REPO
from autograder.sandbox import (
    Budget,
    Call,
    Cell,
    Limits,
    MachineTooBusy,
    SandboxUnavailable,
    bubblewrap,
    probe,
    run,
    submission,
    warm,
)
from autograder.sandbox.process import Process
from autograder.sandbox.starting import SandboxLost
from tests.autograder.sandbox.conftest import GOOD, X
from tests.autograder.sandbox.weaker import before_the_root_is_closed
from tests.choosing import thinned
from tests.patience import PATIENT, SECONDS

pytestmark = pytest.mark.sandbox
CELLS, CALLS = [Cell("good", GOOD)], [Call("good", {"x": X})]

# What is weaker in walls.py -> the promise that the probe then finds broken.
WEAKER = {
    ('confine.confine(**fork.settings["limits"])', "pass"): "memory limit",
    ('mount("tmpfs", "/proc/1"', 'mount("tmpfs", "/tmp"'): "own processes only",
    ('in settings["covered"]', "in ()"): "little told",
    ("kernel.drop_capabilities()", "pass"): "no rights",
    ('kernel.mount("none", "/proc", "", _CLOSED)', "pass"): "settings locked",
    (",size={settings['disk_bytes']}", ""): "little disk",
}


def good(bundle, **options):
    """Run a good function and check what it returns."""
    result = run(CELLS, CALLS, bundle=bundle, limits=PATIENT, **options)
    np.testing.assert_array_equal(result.outcomes[0].value, 2 * X)
    assert result.notes == []


def weakened_walls(folder, statement, weaker):
    """Return options of bwrap that replace walls.py by one with a weaker statement."""
    source = (REPO / "autograder/sandbox/inside/walls.py").read_text(encoding="utf-8")
    assert source.count(statement) == 1
    weak = folder / "walls.py"
    weak.write_text(source.replace(statement, weaker), encoding="utf-8")
    return "--ro-bind", str(weak), str(bubblewrap.RUNNER / "inside/walls.py")


def test_all_runs_are_forks_of_one_process(bundle, sandboxes):
    good(bundle)
    good(bundle)
    (parent,) = sandboxes
    assert parent.forks == 3  # two runs, and a fork that tried the parent


def test_the_modules_of_the_bundle_are_loaded_before_the_fork(sandboxes, tmp_path):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "loaded.py").write_text("HALF = 0.5\n")
    (tmp_path / "solutions" / "broken.py").write_text("raise ValueError('as in a new process')\n")
    source = "import sys\nloaded = 'solutions.loaded' in sys.modules\ndef f():\n    return loaded\n"
    cells = [
        Cell("mine", source),
        Cell("broken", "import solutions.broken"),
    ]
    result = run(cells, [Call("f", {})], bundle=tmp_path, limits=PATIENT)
    assert result.outcomes[0].value is True
    assert result.cells["broken"].message == "as in a new process"


@pytest.mark.parametrize(
    ("part_of_its_name", "code"),
    [
        ("pyplot", "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('plot.png')\n"),
        ("numpy.test", "import numpy as np\nnp.testing.assert_allclose(1, 1)\n"),
    ],
)
def test_what_takes_long_to_import_is_loaded_once_for_all_runs_that_use_it(part_of_its_name, code, bundle, sandboxes):
    seen = f"any({part_of_its_name!r} in name for name in sys.modules)"
    loaded = Cell("loaded", f"import sys\ndef f():\n    return {seen}\n")
    using = Cell("using", code)
    runs = [
        run(cells, [Call("f", {})], bundle=bundle, limits=PATIENT) for cells in ([loaded], [loaded, using], [loaded])
    ]
    assert [result.outcomes[0].value for result in runs] == [False, True, True]
    assert runs[1].cells["using"] is None
    assert len(list(sandboxes)) == 1


def test_a_sound_warm_sandbox_keeps_every_promise(bundle, sandboxes):
    assert len(probe(bundle)) == 19
    assert len(list(sandboxes)) == 1


@pytest.mark.parametrize(
    "change", thinned(WEAKER, [("kernel.drop_capabilities()", "pass")], "other walls"), ids=WEAKER.values()
)
def test_with_weaker_walls_each_run_starts_a_process(bundle, sandboxes, monkeypatch, tmp_path, caplog, change):
    whole, weaker = bubblewrap.warm_parent_arguments, weakened_walls(tmp_path, *change)
    monkeypatch.setattr(bubblewrap, "warm_parent_arguments", lambda *a: before_the_root_is_closed(whole(*a), *weaker))
    assert len(probe(bundle)) == 19
    assert not sandboxes.usable
    (record,) = caplog.records
    assert f"- {WEAKER[change]}: " in record.getMessage()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda options: ["--no-such-option"], "no-such-option"),
        (lambda options: [*options[:-2], "--ro-bind", "/dev/null", "/proc/cmdline", *options[-2:]], "mount proc"),
        (lambda options: [*options, "--setenv", "OMP_NUM_THREADS"], "setenv"),
    ],
    ids=["no process starts", "a fork cannot mount its own /proc", "a wrong option"],
)
def test_where_it_is_not_allowed_each_run_starts_a_process(bundle, sandboxes, monkeypatch, caplog, change, words):
    whole = bubblewrap.warm_parent_arguments
    monkeypatch.setattr(bubblewrap, "warm_parent_arguments", lambda *a: change(whole(*a)))
    good(bundle)
    good(bundle)
    assert not sandboxes.usable and list(sandboxes) == []
    (record,) = caplog.records  # it says so only once
    assert "does not allow a warm one" in record.getMessage() and words in record.getMessage()


def test_walls_that_were_tried_are_not_replaced_by_others(bundle, sandboxes, monkeypatch):
    """Grading would go on in sandboxes that the probe has not tried."""
    sandboxes.prove()
    monkeypatch.setattr(bubblewrap, "warm_parent_arguments", lambda *a: ["--no-such-option"])
    with pytest.raises(SandboxUnavailable, match="no-such-option"):
        good(bundle)


@pytest.fixture
def dying(sandboxes, monkeypatch):
    """dying(n): before each of the next n questions, the warm parent is killed."""

    class Dying(Process):
        deaths = 0

        def ask(self, *args, **kwargs):
            if Dying.deaths:
                Dying.deaths -= 1
                (parent,) = sandboxes
                parent.bwrap.kill()
                parent.bwrap.popen.wait()  # otherwise the fork may still answer
            return super().ask(*args, **kwargs)

    monkeypatch.setattr(submission, "Process", Dying)
    return partial(setattr, Dying, "deaths")


def test_a_warm_process_that_dies_costs_a_submission_nothing(bundle, dying):
    dying(2)
    budget = Budget(PATIENT)
    good(bundle, budget=budget)
    assert budget.processor_seconds > PATIENT.processor_seconds - 5 and not budget.stopped_by_clock


def test_a_warm_process_that_dies_again_and_again_is_not_the_students_fault(bundle, dying):
    dying(10)
    with pytest.raises(MachineTooBusy, match="lost 3 times"):
        good(bundle)


def test_what_was_used_before_a_loss_is_not_charged():
    budget = Budget(Limits())
    deadline = budget.deadline
    with pytest.raises(SandboxLost), budget.uncharged_if_lost():
        budget.processor_seconds -= 100
        budget.sleep_seconds -= 50
        budget.stopped_by_clock = True
        raise SandboxLost
    limits = Limits()
    assert (budget.processor_seconds, budget.sleep_seconds) == (limits.processor_seconds, limits.sleep_seconds)
    assert not budget.stopped_by_clock and budget.deadline >= deadline


def test_a_warm_process_is_renewed(bundle, sandboxes, monkeypatch):
    monkeypatch.setattr(warm, "FORKS", 3)
    good(bundle)
    (first,) = sandboxes
    good(bundle)
    assert [*sandboxes] == [first]
    good(bundle)
    (second,) = sandboxes
    assert second is not first and second.is_alive()
    first.bwrap.popen.wait(SECONDS)


def test_a_warm_process_that_is_not_needed_ends_after_its_last_fork(bundle, sandboxes, monkeypatch, tmp_path):
    monkeypatch.setattr(warm, "MAX_WARM_PARENTS", 1)
    ask = {"arrays": [], "seconds": 60.0, "deadline": time.monotonic() + SECONDS}
    with Process(bundle, PATIENT, "bwrap") as process:
        (first,) = sandboxes
        good(tmp_path)
        assert [*sandboxes] != [first] and first.bwrap.popen.poll() is None
        process.ask({"do": "cell", "cell": "mine", "source": "x = 1", "checked": []}, **ask)
    first.bwrap.popen.wait(SECONDS)


GRADER = """\
import os, signal, sys, time
from pathlib import Path
from autograder.sandbox.process import Process
from autograder.sandbox.warm import sandboxes
from tests.patience import PATIENT
process = Process(Path(sys.argv[1]), PATIENT, "bwrap")
(parent,) = sandboxes
print(parent.bwrap.first_pid, process._launched.started.python_pid(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_outlives_a_grader_that_is_killed(bundle):
    command = [sys.executable, "-c", GRADER, str(bundle)]
    killed = subprocess.run(command, cwd=REPO, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    deadline = time.monotonic() + SECONDS
    pids = killed.stdout.split()
    assert len(pids) == 2
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.01)
