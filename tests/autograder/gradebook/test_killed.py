"""A run that is killed at any moment loses nothing. After the next run everything is as if there had been no kill."""

import json
import multiprocessing
import random
import shutil
import sys
import time
from pathlib import Path

import psutil
import pytest

from autograder.gradebook import class_run
from autograder.grading import own_process, worker
from autograder.layout import exercise_names
from tests.autograder.gradebook.graded_course import computed_scores, open_gradebook
from tests.choosing import thinned
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
STUDENTS = ("perfect", "mistake-1", "half-done", "truncated", "unknown-mistake", "cheat")


@pytest.fixture(scope="module")
def processes():
    """Return a context whose processes have finished all imports, so that a kill hits the work and not the imports."""
    context = multiprocessing.get_context("forkserver")
    exercises = [f"autograder.exercises.attention.{name}" for name in exercise_names(CHAPTER)]
    context.set_forkserver_preload(["autograder.gradebook.write", *exercises, __name__])
    first = context.Process(target=print)
    first.start()
    first.join()
    return context


def run(course, few=sys.maxsize, tried=True):
    """Grade. After a few submissions, each thread does so in a process of its own.

    If `tried`, skip the test of the sandbox, which takes half of such a short run.
    """
    own_process.CALLS_BEFORE_OWN_PROCESS = few
    if tried:
        worker.probe = lambda bundle, kind: None
    class_run.grade_class(course, CHAPTER, jobs=2)


def state(course):
    """Return everything that a run writes: scores, origins of the autograded notebooks, pages, reports."""
    scores = computed_scores(course)
    marks = {path.parent.parent.name: mark(path) for path in (course / "autograded").glob(f"*/*/{CHAPTER}.ipynb")}
    pages = {path.parent.parent.name: path.read_bytes() for path in (course / "feedback").glob(f"*/*/{CHAPTER}.html")}
    return scores, marks, pages, sorted(path.name for path in (course / "reports" / CHAPTER).glob("*.json"))


def mark(path):
    return json.loads(path.read_text(encoding="utf-8"))["metadata"]["autograder"]


@pytest.mark.parametrize("few", thinned([0, sys.maxsize], [0], "threads instead of processes"))
@pytest.mark.parametrize("kills", thinned([2, 25], [2], "kills at many more moments"))
def test_a_class_killed_many_times_ends_as_if_undisturbed(course, hand_in, contents, processes, tmp_path, kills, few):
    for number in range(3):
        name = STUDENTS[number % len(STUDENTS)]
        hand_in(f"{name}-{number}", contents[name] + b"\n" * number)
    undisturbed = shutil.copytree(course, tmp_path / "undisturbed")
    started = time.monotonic()
    process = processes.Process(target=run, args=(undisturbed, few))
    process.start()
    process.join()
    duration = time.monotonic() - started
    assert process.exitcode == 0

    rng = random.Random(2017)
    killed = 0
    while killed < kills:
        if killed % 10 == 0:  # some runs start with nothing graded, others with most of it
            _forget(course)
        process = processes.Process(target=run, args=(course, few, killed % 10 != 0))
        process.start()
        process.join(rng.uniform(0, duration))
        if process.exitcode is None:
            process.kill()
            process.join()
            killed += 1
        else:
            assert process.exitcode == 0
            _forget(course)
    class_run.grade_class(course, CHAPTER)
    assert state(course) == state(undisturbed)
    rows = class_run.grade_class(course, CHAPTER)
    assert not any(row.written for row in rows) and all(row.reused for row in rows)
    _nothing_is_left(course)


def _forget(course):
    """Delete everything that grading wrote."""
    for step in ("autograded", "feedback", "reports"):
        shutil.rmtree(course / step, ignore_errors=True)
    with open_gradebook(course) as gradebook:
        for student in list(gradebook.students):
            gradebook.remove_student(student.id)


def _nothing_is_left(course):
    """Check that no process and no half-written file of a killed run is left."""
    assert not [process for process in psutil.process_iter() if process.status() != "zombie" and _is_sandbox(process)]
    assert not list(course.rglob("*.part"))


def _is_sandbox(process):
    try:
        return Path(process.name()).name == "bwrap" and process.ppid() == 1
    except psutil.Error:
        return False
