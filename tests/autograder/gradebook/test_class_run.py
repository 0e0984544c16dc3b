"""Grading a class: reuse, regrading, killed runs, and nbgrader's own commands."""

import copy
import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

import autograder
from autograder.gradebook import class_run
from autograder.gradebook.coursedir import open_coursedir
from autograder.grading import assignment as assignments
from autograder.grading import client, grade, own_process, queue, worker
from autograder.grading.client import connected
from autograder.grading.queue import GradingQueue, open_queue
from autograder.grading.report import Report, Reports
from autograder.grading.submissions import NoSubmissions, submissions
from autograder.grading.submitted_file import read_file
from autograder.sandbox import MachineTooBusy, SandboxUnavailable
from autograder.scores.rows import Incomplete
from tests.autograder.gradebook.graded_course import formgrader_of, graded, open_gradebook
from tests.conftest import CHAPTER
from tests.patience import SECONDS

pytestmark = pytest.mark.grading
REPO = Path(autograder.__file__).parent.parent


def reports(course, rows):
    """Return the reports of a class, without the time that each took."""
    assert not any(row.reused for row in rows.values())
    files = sorted((course / "reports" / CHAPTER).glob("*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) | {"seconds": 0} for file in files]


def digest_of(file, assignment):
    return assignments.digest(assignment.report_parts(file))


def score(course, student):
    directory = open_coursedir(course, CHAPTER)
    with Gradebook(directory.db_url) as gradebook:
        return gradebook.find_submission(CHAPTER, student).score


def nbgrader(*arguments, cwd):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(REPO)}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


# ------------------------------------------------------------------------------------- a second run


def test_a_second_run_reuses_everything(course, hand_in, contents):
    hand_in("ada", contents["perfect"])
    hand_in("bob", contents["mistake-1"])
    first, second = graded(course), graded(course)
    assert all(row.written and not row.reused for row in first.values())
    assert all(row.reused and not row.written for row in second.values())
    assert [row.report for row in first.values()] == [row.report for row in second.values()]


def test_force_grades_again_and_keeps_the_old_report(ada):
    (row,) = graded(ada, force=True).values()
    assert row.written and not row.reused
    assert len(list((ada / "reports" / CHAPTER).glob("*.json"))) == 2


def test_a_resubmission_that_breaks_scores_zero_with_a_reason(ada, hand_in, contents):
    assert score(ada, "ada") == 22
    hand_in("ada", contents["truncated"])
    (row,) = graded(ada).values()
    assert "ends in the middle" in row.report.trouble
    assert score(ada, "ada") == 0
    assert "ends in the middle" in (ada / "feedback/ada" / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")


def test_a_notebook_with_the_cells_of_an_exercise_that_was_dropped_keeps_its_other_points(course, hand_in, perfect):
    """Chapter 1 asked for `self_attention` before it gave this function."""
    notebook = copy.deepcopy(perfect)
    (given,) = (i for i, cell in enumerate(notebook["cells"]) if "def self_attention(" in "".join(cell["source"]))
    written = "def self_attention(x, *projections):\n    return attention(*(x @ w for w in projections))"
    exercise = {"grade_id": "self_attention", "solution": True, "grade": False, "locked": False}
    its_check = {"grade_id": "check-self_attention", "solution": False, "grade": True, "locked": True, "points": 3}
    notebook["cells"][given : given + 1] = [
        notebook["cells"][given] | {"id": tags["grade_id"], "metadata": {"nbgrader": tags}, "source": source}
        for tags, source in ((exercise, written), (its_check, "check(self_attention)"))
    ]
    hand_in("ada", json.dumps(notebook).encode())
    report = graded(course)["ada"].report
    assert report.earned == report.points == score(course, "ada") == 22
    assert report.notes == ("1 cell of the chapter's text and demonstrations went missing.",)


def test_unfinished_work_of_a_killed_run_is_done_again(ada):
    notebook = ada / "autograded/ada" / CHAPTER / f"{CHAPTER}.ipynb"
    notebook.chmod(0o644)
    content = json.loads(notebook.read_text())
    content["metadata"]["autograder"]["recorded"] = False
    notebook.write_text(json.dumps(content))
    (row,) = graded(ada).values()
    assert row.reused and row.written


def test_a_wrong_score_in_the_gradebook_is_corrected(ada):
    with open_gradebook(ada) as gradebook:
        gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "ada").auto_score = 1
        gradebook.db.commit()
    graded(ada)
    assert score(ada, "ada") == 22


def test_a_half_written_report_is_ignored(ada):
    (report,) = (ada / "reports" / CHAPTER).glob("*.json")
    report.write_text(report.read_text()[:100])
    assert not graded(ada)["ada"].reused


def test_only_the_named_students_are_graded(course, hand_in, contents):
    for student in ("ada", "bob"):
        hand_in(student, contents["perfect"])
    assert list(graded(course, students=["bob"])) == ["bob"]
    with pytest.raises(NoSubmissions, match="eve"):
        graded(course, students=["eve"])


# ------------------------------------------------------------------------------------------ reports


def test_reports_are_private_and_contain_no_names(course, hand_in, contents):
    hand_in("lovelace", contents["mistake-1"])  # a name that cannot occur in a hexadecimal digest
    graded(course)
    (report,) = (course / "reports" / CHAPTER).glob("*.json")
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert stat.S_IMODE(report.parent.stat().st_mode) == 0o700
    assert "lovelace" not in report.read_text()


def test_the_digest_depends_on_submission_release_seed_and_environment(course, hand_in, contents):
    file = read_file(hand_in("ada", contents["perfect"]))
    other = read_file(hand_in("bob", contents["blank"]))
    plain, bare = (assignments.open_assignment(course, CHAPTER, 5, sandbox=kind) for kind in ("bwrap", "none"))
    assert digest_of(file, plain) == digest_of(file, assignments.open_assignment(course, CHAPTER, 5))
    other_seed = assignments.open_assignment(course, CHAPTER, 6)
    notebook = course / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    notebook.write_text(notebook.read_text(encoding="utf-8").replace("softmax", "Softmax", 1), encoding="utf-8")
    other_release = assignments.open_assignment(course, CHAPTER, 5)
    digests = [digest_of(file, plain), digest_of(other, plain)]
    digests += [digest_of(file, assignment) for assignment in (bare, other_seed, other_release)]
    assert len(set(digests)) == 5


def test_an_error_in_our_code_affects_one_submission_and_is_reported(course, hand_in, contents, monkeypatch):
    hand_in("ada", contents["perfect"])
    hand_in("bob", contents["blank"])
    read = grade.reading.read_submission

    def failing(file, released):
        if file.raw == contents["blank"]:
            raise RuntimeError("a bug of ours")
        return read(file, released)

    monkeypatch.setattr(grade.reading, "read_submission", failing)
    with pytest.raises(Incomplete, match="a bug of ours") as incomplete:
        graded(course)
    assert [row.student for row in incomplete.value.rows] == ["ada"]
    assert score(course, "ada") == 22
    monkeypatch.undo()
    assert not graded(course)["bob"].reused


@pytest.fixture
def grade_in_processes(monkeypatch):
    """grade_in_processes() lets processes grade from now on, and returns the list of those that have started.

    They end with the test, and return what they borrowed.
    """
    started = []

    class Recorded(own_process.OwnProcess):
        def __init__(self):
            super().__init__()
            started.append(self)

    def grade_in_processes():
        monkeypatch.setattr(own_process, "CALLS_BEFORE_OWN_PROCESS", 0)
        monkeypatch.setattr(own_process, "OwnProcess", Recorded)
        monkeypatch.setattr(client, "_threads", client.Threads)  # other tests do not get the threads of this test
        monkeypatch.setattr(worker, "grade_submission", None)  # this process must not grade
        return started

    yield grade_in_processes
    for process in started:
        process.end()


def test_processes_grade_as_threads_do(course, hand_in, contents, grade_in_processes):
    """A large class is graded in processes."""
    for name in ("perfect", "unknown-mistake", "truncated"):
        hand_in(name, contents[name])
    in_threads = reports(course, graded(course))
    processes = grade_in_processes()
    shutil.rmtree(course / "reports")
    assert reports(course, graded(course)) == in_threads
    assert processes


@pytest.fixture
def busy(monkeypatch, contents):
    """busy(times) -> list of (what was graded, whether alone). The perfect notebook gets no sandbox that many times."""
    real = worker.grade_submission
    starts = []

    def busy(times):
        def grade_submission(file, *arguments, alone):
            starts.append((file.raw, alone))
            if file.raw == contents["perfect"] and len([raw for raw, _ in starts if raw == file.raw]) <= times:
                raise MachineTooBusy("the machine is busy")
            return real(file, *arguments, alone=alone)

        monkeypatch.setattr(worker, "grade_submission", grade_submission)
        return starts

    return busy


def test_a_submission_whose_sandbox_did_not_start_is_graded_last(course, hand_in, contents, busy):
    """Such a submission once ended the run for the whole class."""
    hand_in("ada", contents["perfect"])
    hand_in("bob", contents["mistake-1"])
    starts = busy(1)
    assert list(graded(course)) == ["ada", "bob"]
    assert (score(course, "ada"), score(course, "bob")) == (22, 18)
    assert sorted(starts[:2], key=lambda start: start[0] != contents["perfect"]) == [
        (contents["perfect"], False),
        (contents["mistake-1"], False),
    ]
    assert starts[2:] == [(contents["perfect"], True)]


def test_a_submission_whose_sandbox_does_not_start_twice_is_reported(course, hand_in, contents, busy):
    hand_in("ada", contents["perfect"])
    hand_in("bob", contents["mistake-1"])
    busy(2)
    with pytest.raises(Incomplete, match="ada: MachineTooBusy: the machine is busy") as incomplete:
        graded(course)
    assert [row.student for row in incomplete.value.rows] == ["bob"]


def test_each_row_comes_as_soon_as_it_is_final_and_what_the_clock_stopped_last(course, hand_in, contents, monkeypatch):
    """The feedback of three honest students waited until a submission that slept had been graded twice."""
    hand_in("ada", contents["mistake-1"])
    for student in ("bob", "eve", "zoe"):
        hand_in(student, contents["perfect"])
    real, returned, alone_runs = worker.grade_submission, threading.Event(), []

    def grade_submission(file, *arguments, alone):
        if file.raw == contents["mistake-1"]:
            alone_runs.append(alone)
            if not alone:
                assert returned.wait(SECONDS)
                raise MachineTooBusy("the clock stopped it")
        return real(file, *arguments, alone=alone)

    monkeypatch.setattr(worker, "grade_submission", grade_submission)
    monkeypatch.setattr(class_run, "connected", partial(connected, jobs=2))
    rows = class_run.rows_as_graded(course, CHAPTER, ("ada", "bob", "eve", "zoe"))
    for row in islice(rows, 3):
        assert row.student != "ada" and (course / f"feedback/{row.student}/{CHAPTER}/{CHAPTER}.html").exists()
        assert score(course, row.student) == 22
    assert alone_runs == [False]
    returned.set()
    assert [row.student for row in rows] == ["ada"] and alone_runs == [False, True]
    assert score(course, "ada") == 18


def test_a_caller_that_stops_early_loses_nothing(course, hand_in, contents):
    for student in ("ada", "bob", "eve"):
        hand_in(student, contents["perfect"])
    rows = class_run.rows_as_graded(course, CHAPTER, ("ada", "bob", "eve"))
    first = next(rows)
    rows.close()
    assert score(course, first.student) == 22
    again = graded(course)
    assert not again[first.student].written
    assert [score(course, student) for student in again] == [22, 22, 22]


def test_an_error_before_grading_begins_is_reported_for_its_own_student(course, hand_in, contents, monkeypatch):
    def read(path):
        if path.parent.parent.name == "eve":
            raise OSError("stale file handle")
        return read_file(path)

    for student in ("ada", "bob", "eve", "zoe"):
        hand_in(student, contents["perfect"])
    monkeypatch.setattr(queue, "read_file", read)
    with pytest.raises(Incomplete, match="^eve: OSError: stale file handle$") as incomplete:
        graded(course, jobs=1)
    assert [row.student for row in incomplete.value.rows] == ["ada", "bob", "zoe"]


def test_a_second_try_waits_until_nothing_else_is_graded(course, hand_in, contents, monkeypatch):
    """nbgrader's command asks for the second try at once, while the next submissions are being graded."""
    hand_in("ada", contents["perfect"])
    hand_in("bob", contents["mistake-1"])
    real, wait_for_others = worker.grade_submission, GradingQueue._wait_for_others
    second_try, order = threading.Event(), []

    def grade_submission(file, *arguments, alone):
        if file.raw == contents["mistake-1"]:
            second_try.wait()
            order.append("bob")
        else:
            order.append(("ada", alone))
            if not alone:
                raise MachineTooBusy("the machine is busy")
            second_try.set()
        return real(file, *arguments, alone=alone)

    def wait_until_done(grader):
        second_try.set()
        wait_for_others(grader)

    monkeypatch.setattr(worker, "grade_submission", grade_submission)
    monkeypatch.setattr(GradingQueue, "_wait_for_others", wait_until_done)
    paths = submissions(course, CHAPTER)
    with connected(None, 2) as client:
        grader = open_queue(course, CHAPTER, client)
        grader.expect(paths.values())
        with pytest.raises(MachineTooBusy):
            grader.graded(paths["ada"])
        grader.graded(paths["ada"])
    assert order == [("ada", False), "bob", ("ada", True)]


def test_an_unknown_student_is_named_if_the_course_adds_no_students(course, hand_in, contents):
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write("\nc.Autograde.create_student = False\n")
    hand_in("ada", contents["perfect"])
    with pytest.raises(Incomplete, match="ada: No student with ID 'ada' exists in the database"):
        graded(course)


def test_an_autograded_notebook_is_valid_and_written_as_nbformat_writes_it(graded_class):
    made, _, course = graded_class
    for student in made:
        text = (course / "autograded" / student / CHAPTER / f"{CHAPTER}.ipynb").read_text(encoding="utf-8")
        notebook = nbformat.reads(text, 4)
        nbformat.validate(notebook)
        assert text == nbformat.writes(notebook) + "\n"


# ----------------------------------------------------------------------------- nbgrader's own commands


@pytest.mark.thorough("formgrader's button runs the same command of nbgrader")
def test_nbgraders_command_gives_the_same_scores(graded_class, tmp_path):
    made, _, graded_course = graded_class
    course = shutil.copytree(graded_course, tmp_path / "course")
    for step in ("autograded", "feedback", "reports"):
        shutil.rmtree(course / step)
    for student in set(made) - {"perfect", "mistake-1", "truncated", "deleted-check"}:
        shutil.rmtree(course / "submitted" / student)
    with open_gradebook(course) as gradebook:
        for student in made:
            gradebook.remove_student(student)
    done = nbgrader("autograde", CHAPTER, f"--course-dir={course}", cwd=REPO)
    assert done.returncode == 0, done.stderr
    for student in ("perfect", "mistake-1", "truncated", "deleted-check"):
        assert score(course, student) == made[student].score
    rows = graded(course)
    assert all(row.reused and not row.written for row in rows.values())


def test_nbgraders_command_refuses_without_a_sandbox(course, hand_in, contents, monkeypatch):
    hand_in("ada", contents["perfect"])

    def unavailable(bundle, kind):
        raise SandboxUnavailable("no bubblewrap here")

    monkeypatch.setattr(worker, "probe", unavailable)
    worker.tried_bundle.cache_clear()
    done = formgrader_of(course).autograde(CHAPTER, "ada")
    assert not done["success"] and "no bubblewrap here" in done["error"]
    assert not (course / "autograded").exists()


def test_the_sandbox_is_tried_only_if_a_report_is_missing(course, hand_in, contents, monkeypatch):
    hand_in("ada", contents["perfect"])
    graded(course)
    earned, tried = score(course, "ada"), []

    def unavailable(bundle, kind):
        tried.append(bundle)
        raise SandboxUnavailable("no bubblewrap here")

    monkeypatch.setattr(worker, "probe", unavailable)
    worker.tried_bundle.cache_clear()
    assert graded(course)["ada"].reused and not tried
    with pytest.raises(SandboxUnavailable, match="no bubblewrap here"):
        graded(course, force=True)
    assert tried and score(course, "ada") == earned > 0


def test_a_saved_report_is_read_as_it_was(graded_class):
    _, rows, course = graded_class
    report = rows["mistake-1"].report
    assert isinstance(report, Report)
    assert Reports(course / "reports" / CHAPTER).find(report.digest) == report


def test_a_full_disk_leaves_the_report_that_it_should_replace(graded_class, tmp_path, monkeypatch):
    _, rows, _ = graded_class
    reports, report = Reports(tmp_path), rows["mistake-1"].report
    for notes in (("first",), ("second",), ("third",)):
        reports.add(replace(report, notes=notes))
    assert len(list(tmp_path.iterdir())) == 2  # the last one, and the one before

    def disk_is_full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", disk_is_full)
    with pytest.raises(OSError, match="No space left on device"):
        reports.add(replace(report, notes=("fourth",)))
    assert reports.find(report.digest).notes == ("third",) and len(list(tmp_path.iterdir())) == 2
