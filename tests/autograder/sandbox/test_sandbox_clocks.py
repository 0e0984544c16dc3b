"""Calls are limited by their processor time. The wall clock stops only what waits, and says so."""

import os
import time
from dataclasses import replace
from functools import partial

import pytest

from autograder.sandbox import Budget, Call, Cell, process, run
from autograder.sandbox.inside import frames
from autograder.sandbox.process import Ended, Process
from autograder.sandbox.usage import Activity, asleep
from check import values
from tests.autograder.sandbox.conftest import SHORT
from tests.choosing import thinned
from tests.patience import PATIENT

pytestmark = pytest.mark.sandbox
KINDS = pytest.mark.parametrize("kind", thinned(["bwrap", "none"], ["bwrap"], "the same limits without its walls"))
USED = "used more than 2 seconds of processor time"
SPINNING = """
import signal, threading, time, numpy as np
def spin():
    x = np.random.default_rng(0).normal(size=2**18)
    while True:
        np.sort(x)
def f():
    {body}
"""


def test_waiting_uses_no_processor_time(ask):
    """Time limits were limits of the wall clock, so an honest function lost points on a busy machine."""
    source = "import time\ndef f():\n    time.sleep(0.3)\n    return 1"
    assert ask(source, "f", limits=replace(SHORT, call_seconds=0.2)).value == 1


def test_the_processor_time_of_a_call_is_summed_over_its_threads(ask):
    body = "threading.Thread(target=spin, daemon=True).start()\n    time.sleep(600)"
    assert ask(SPINNING.format(body=body), "f", limits=SHORT).stopped == USED


@KINDS
@pytest.mark.parametrize(
    "body",
    thinned(
        [
            "signal.setitimer(signal.ITIMER_PROF, 0)",
            "signal.signal(signal.SIGPROF, signal.SIG_IGN)",
            "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))",
        ],
        ["signal.pthread_sigmask(signal.SIG_BLOCK, range(1, signal.NSIG))"],
        "other ways to lose the alarm",
    ),
)
def test_processor_time_is_also_measured_from_outside(ask, kind, body):
    assert ask(SPINNING.format(body=f"{body}\n    spin()"), "f", limits=SHORT, kind=kind).stopped == USED


@pytest.mark.thorough("a whole submission and one call are tested")
def test_a_later_call_has_processor_time_of_its_own(submit):
    source = """
import time
def f():
    end = time.process_time() + 0.6
    while time.process_time() < end:
        pass
    return 1
"""
    result = submit(source, "f", "f", "f", limits=replace(SHORT, call_seconds=1.0, patience=0.1))
    assert [outcome.value for outcome in result.outcomes] == [1, 1, 1]


def test_a_function_that_only_waits_is_stopped_by_the_wall_clock(submit):
    limits = replace(PATIENT, call_seconds=300.0, wall_factor=0.01)
    result = submit("import time\ndef f():\n    time.sleep(600)", "f", "good", "f", limits=limits)
    assert [outcome.stopped for outcome in result.outcomes] == [
        "waited longer than 3 seconds",
        "",
        *["waited longer than 3 seconds"],
    ]
    assert result.notes == ["function f waited longer than 3 seconds; the rest ran in a new process"]


def test_a_cell_that_only_waits_is_stopped_by_the_wall_clock(submit):
    result = submit(
        "import time\ntime.sleep(600)", "good", limits=replace(PATIENT, cell_seconds=300.0, wall_factor=0.01)
    )
    assert result.cells == {"good": None, "mine": "waited longer than 3 seconds"}


@KINDS
def test_a_submission_that_sleeps_ends_as_a_whole(submit, kind):
    """Such a submission held its place until the wall clock stopped it, and then again when it was graded alone."""
    source = "import time\ndef f():\n    while True:\n        time.sleep(0.001)"
    result = submit(source, "f", "good", limits=replace(PATIENT, sleep_seconds=0.5), kind=kind)
    reason = "was not finished when the whole submission had slept for 0.5 seconds"
    assert [outcome.stopped for outcome in result.outcomes] == [reason, reason]


def test_sleep_is_added_up_over_the_runs_of_a_submission(bundle):
    limits = replace(PATIENT, sleep_seconds=0.5)
    budget = Budget(limits)
    cells, calls = [Cell("f", "import time\ndef f():\n    time.sleep(600)")], [Call("f", {})]
    run(cells, calls, bundle=bundle, limits=limits, budget=budget)
    assert budget.stopped_by_clock and not budget.allows_another_run()


def test_a_function_that_computes_does_not_sleep(ask):
    source = """
import time
def f():
    end = time.process_time() + 1
    while time.process_time() < end:
        pass
    return 1
"""
    assert ask(source, "f", limits=replace(PATIENT, sleep_seconds=0.3)).value == 1


ASLEEP = Activity(frozenset("12"), all_sleep=True, seconds=5.0)


@pytest.mark.parametrize(
    ("before", "after", "slept"),
    [
        (ASLEEP, ASLEEP, 0.1),
        (ASLEEP, replace(ASLEEP, seconds=5.04), 0.06),  # the process ran, or waited for a processor
        (ASLEEP, replace(ASLEEP, seconds=7.0), 0.0),
        (replace(ASLEEP, all_sleep=False), ASLEEP, 0.0),  # a wait for a processor is counted when the wait ends
        (ASLEEP, replace(ASLEEP, all_sleep=False), 0.0),
        (ASLEEP, replace(ASLEEP, threads=frozenset("13")), 0.0),  # the time of a thread that has ended is unknown
        (None, ASLEEP, 0.0),
        (ASLEEP, None, 0.0),
    ],
)
def test_time_is_sleep_only_if_all_threads_sleep_through_it(before, after, slept):
    assert asleep(before, after, 0.1) == pytest.approx(slept)


@KINDS
def test_student_code_has_a_lower_priority_than_the_grader(ask, kind):
    source = "import os\ndef f():\n    return os.getpriority(os.PRIO_PROCESS, 0)"
    assert ask(source, "f", kind=kind).value == min(os.getpriority(os.PRIO_PROCESS, 0) + 5, 19)


def test_student_code_cannot_raise_its_priority(ask):
    outcome = ask("import os\ndef f():\n    os.setpriority(os.PRIO_PROCESS, 0, 0)", "f")
    assert outcome.raised.type == "PermissionError"


@KINDS
def test_libraries_compute_in_one_thread(ask, kind):
    """A busy neighbour took an honest submission from 23 to 249 seconds."""
    source = "import os\ndef f():\n    return [os.environ[f'{x}_NUM_THREADS'] for x in ('OMP', 'OPENBLAS', 'MKL')]"
    assert ask(source, "f", kind=kind).value == ["1", "1", "1"]


def test_the_grader_s_own_work_for_a_call_has_a_limit(bundle):
    """A function that is a case's input runs in the grader, which student code could keep busy while it waits."""

    def slow_answer(question, arrays, deadline, call_back):
        end = time.thread_time() + 0.3
        while time.thread_time() < end:
            pass
        tree, _ = values.pack({"value": 1.0, "generators": [], "raised": ""})
        return frames.encode({"answer": tree})

    source = "def f():\n    while True:\n        doubled()"
    limits = replace(PATIENT, answer_seconds=1.0)
    with Process(bundle, limits, "bwrap") as process:
        ask = partial(process.ask, arrays=[], seconds=60.0, deadline=time.monotonic() + 60)
        ask({"do": "cell", "cell": "f", "source": source, "checked": []})
        call = {
            "do": "call",
            "function": "f",
            "inputs": values.pack({})[0],
            "stand_ins": {"doubled": False},
            "functions": {},
        }
        with pytest.raises(Ended, match="asked the grader for values that take it more than 1 second to compute"):
            ask(call, answer_question=slow_answer)


def test_a_process_starts_even_if_no_processor_time_is_left(bundle, monkeypatch):
    """A start that took long enough to be measured raised an exception that nothing caught."""
    monkeypatch.setattr(process, "WATCH_SECONDS", 0.001)
    budget = Budget(PATIENT)
    budget.processor_seconds = 0.0
    cells, calls = [Cell("f", "def f():\n    return 1")], [Call("f", {})]
    (outcome,) = run(cells, calls, bundle=bundle, limits=PATIENT, budget=budget).outcomes
    assert outcome.stopped == "was not finished when the whole submission had used 3600 seconds of processor time"
