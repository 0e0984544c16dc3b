"""Grading on arrival: when, how often, and what reaches the student. At the end, a real `autograder watch`."""

import copy
import json
import os
import pwd
import re
import signal
import subprocess
import sys
from argparse import ArgumentParser
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest
from nbgrader.auth import Authenticator
from nbgrader.exchange.default import ExchangeFetchFeedback, ExchangeReleaseAssignment, ExchangeSubmit

from autograder.cli.main import main
from autograder.course.configuration import nbgrader_config
from autograder.course.handout import NotReleased
from autograder.course.lock import Busy
from autograder.errors import UserError
from autograder.gradebook import class_run
from autograder.gradebook.coursedir import open_coursedir
from autograder.grading import worker
from autograder.grading.assignment import file_digest
from autograder.grading.report import Report
from autograder.grading.submitted_file import read_file

pytest.importorskip("watchfiles", reason="NO WATCHFILES: `watch` was not tested. Install it with `make formgrader`.")

from autograder.hub.cli import watch as watch_command
from autograder.hub.watching import desk, watch
from autograder.hub.watching.attempt_log import Attempt, AttemptLog, AttemptRules, decide
from autograder.hub.watching.desk import ABANDONED, RETRY_AFTER, SETTLED, Desk
from autograder.hub.watching.exchange_inbox import ExchangeInbox
from autograder.hub.watching.inboxes import Arrival
from autograder.hub.watching.watch import only_one, open_desk
from autograder.hub.watching.watch import watching as watching_until
from autograder.scores.rows import Incomplete, StudentRow
from tests.autograder.gradebook.graded_course import computed_scores
from tests.conftest import CHAPTER
from tests.patience import PATIENT

pytestmark = pytest.mark.grading
ME = pwd.getpwuid(os.getuid()).pw_name


def graded(submission, at):
    return Attempt("a", submission, at)


# ------------------------------------------------------------------------------------------- attempts


@pytest.mark.parametrize(("earlier", "rules", "now", "action", "number"), [
    ([], AttemptRules(1, 60), 0, "grade", 1),
    ([graded("x", 0)], AttemptRules(), 1, "grade", 2),
    ([graded("x", 0)], AttemptRules(2), 1, "grade", 2),
    ([graded("x", 0)], AttemptRules(1), 1, "keep", 2),
    ([graded("x", 0), Attempt("a", "y", 1, graded=False)], AttemptRules(2), 1, "grade", 2),
    ([graded("x", 0)], AttemptRules(None, 60), 59, "wait", 2),
    ([graded("x", 0)], AttemptRules(None, 60), 60, "grade", 2),
    ([graded("new", 0)], AttemptRules(1, 60), 1, "nothing", 1),
    ([graded("new", 0), graded("x", 1)], AttemptRules(2, 60), 2, "grade", 1),
    ([graded("x", 0), graded("y", 50), graded("x", 80)], AttemptRules(None, 60), 109, "wait", 3),
    ([graded("x", 0), graded("y", 50), graded("x", 80)], AttemptRules(None, 60), 110, "grade", 3),
])  # fmt: skip
def test_earlier_attempts_decide_what_to_do_with_a_submission(earlier, rules, now, action, number):
    decision = decide(earlier, "a", "new", rules, now)
    assert (decision.action, decision.number) == (action, number)


def test_a_file_that_is_handed_in_again_gets_its_feedback_again():
    assert decide([graded("x", 0)], "b", "x", AttemptRules(1, 60), 1).action == "grade"


def test_attempts_survive_a_restart(tmp_path):
    AttemptLog(tmp_path, CHAPTER).add("ada", graded("x", 1.5))
    AttemptLog(tmp_path, CHAPTER).add("ada", Attempt("b", "y", 2, graded=False))
    assert AttemptLog(tmp_path, CHAPTER).of("ada") == [graded("x", 1.5), Attempt("b", "y", 2, graded=False)]
    assert not list(tmp_path.rglob("*.part"))


def test_the_log_of_attempts_is_its_owners_alone_and_a_damaged_one_is_named(tmp_path):
    AttemptLog(tmp_path, CHAPTER).add("ada", graded("0" * 64, 1.0))
    (path,) = tmp_path.rglob("*.json")
    assert not path.stat().st_mode & 0o077
    path.write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="is damaged"):
        AttemptLog(tmp_path, CHAPTER)


# ------------------------------------------------------------------------------------------- the desk


class Window:
    """A desk whose inbox, clock and grader belong to the test."""

    deep, returned = True, "returned"

    def __init__(self, folder, limit=None, wait=0):
        self.folder, self.rules, self.now = folder, AttemptRules(limit, wait), 1000.0
        self.files, self.graded, self.refused, self.trouble = {}, [], [], None
        self.open()

    def open(self):
        attempts = AttemptLog(self.folder, CHAPTER)
        self.desk = Desk(self, attempts, self.rules, self.grade, lambda student: Path(student), lambda: self.now)

    def put(self, student, name, content=b"{}"):
        file = self.folder / name
        file.write_bytes(content)
        self.files[student] = Arrival(student, name, file, (len(content), content), datetime.now(UTC))

    def look(self, later=0.0):
        """Return the lines of the desk's next look, which is this many seconds later."""
        self.now += later
        return [f"{student}: {event}" for student, event in self.desk.look()]

    def arrivals(self):
        return list(self.files.values()), {}

    def collect(self, arrivals):
        return {}

    def return_feedback(self, arrival, page):
        return ""

    def refuse(self, arrival, sentence):
        self.refused.append((arrival.name, sentence))

    def grade(self, students):
        if self.trouble:
            raise self.trouble
        for student in students:
            self.graded.append(self.files[student].name)
            yield self.row(student)

    def row(self, student):
        made_from = {"submission": file_digest(read_file(self.files[student].file))}
        return StudentRow(student, Report("", CHAPTER, "", (), (), (), 0.0, made_from), "new", False, True)


@pytest.fixture
def window(tmp_path):
    return Window(tmp_path)


def test_a_file_is_graded_once_it_stops_changing(window):
    window.put("ada", "1", b"{")
    assert window.look() == [] and window.look(SETTLED - 1) == []
    window.put("ada", "1", b"{ }")
    assert window.look(SETTLED - 1) == [] and window.graded == []
    assert window.look(SETTLED) == ["ada: attempt 1: 0 of 0 points, returned"]
    assert window.look(SETTLED) == [] and window.graded == ["1"]


def test_an_incomplete_file_is_graded_as_it_is_after_a_longer_wait(window):
    window.put("ada", "1", b'{"cells": [')
    window.look()
    assert window.look(SETTLED) == [] and window.look(ABANDONED - SETTLED - 1) == []
    assert len(window.look(1)) == 1 and window.graded == ["1"]


def test_the_latest_submission_is_graded_after_the_wait(tmp_path):
    window = Window(tmp_path, wait=600)
    window.put("ada", "1", b"{1}")
    window.look()
    window.look(SETTLED)
    for name in ("2", "3"):
        window.put("ada", name, b"{%s}" % name.encode())
        window.look(1)
        (line,) = window.look(SETTLED)
        assert line.startswith("ada: attempt 2 will be graded at ")
    assert window.look(580) == [] and window.graded == ["1"]
    window.open()  # as after a restart
    window.look()
    assert len(window.look(20)) == 1 and window.graded == ["1", "3"]


def test_after_the_last_attempt_a_file_is_kept_and_the_student_hears_it_once(tmp_path):
    window = Window(tmp_path, limit=1)
    for name in ("1", "2"):
        window.put("ada", name, b"{%s}" % name.encode())
        window.look()
        lines = window.look(SETTLED)
    kept = "kept and not graded: 1 of 1 attempts have been graded"
    assert lines == [f"ada: {kept}"] and window.refused == [("2", f"{kept}. The last of them counts.")]
    window.open()
    window.look()
    assert window.look(SETTLED) == [] and len(window.refused) == 1 and window.graded == ["1"]
    window.rules = AttemptRules(2)
    window.open()
    window.look()
    assert window.look(SETTLED) == ["ada: attempt 2 of 2: 0 of 0 points, returned"] and window.graded == ["1", "2"]


def test_a_graded_file_is_not_graded_again_after_a_restart(window):
    window.put("ada", "1")
    window.look()
    window.look(SETTLED)
    window.open()
    window.look()
    assert window.look(SETTLED) == [] and window.graded == ["1"]


@pytest.mark.parametrize(
    "trouble",
    [
        *(Busy("another run"), OSError("no space"), Incomplete([], ["held"]), NotReleased(Path(), CHAPTER)),
        UserError("c.Assigned.exercises in nbgrader_config.py names no exercise of 01_attention"),
    ],
)
def test_a_failure_of_ours_is_tried_again(window, trouble):
    window.put("ada", "1")
    window.look()
    window.trouble = trouble
    assert window.look(SETTLED) == [f"ada: not yet, will be tried again: {trouble}"]
    assert window.look(RETRY_AFTER) == []  # the desk has reported it before
    window.trouble = None
    assert window.look(RETRY_AFTER) == ["ada: attempt 1: 0 of 0 points, returned"]


def test_an_unreadable_folder_is_reported_once_and_tried_again(window, monkeypatch):
    def away():
        raise OSError("stale file handle")

    window.put("ada", "1")
    monkeypatch.setattr(window, "arrivals", away)
    skipped = f"{window.folder.name}: skipped: it cannot be read: stale file handle"
    assert window.look() == [skipped] and not window.look(1)
    monkeypatch.undo()
    window.look()
    assert len(window.look(SETTLED)) == 1


def test_an_attempt_counts_once_its_feedback_is_released(window, monkeypatch):
    def unreachable(arrival, page):
        raise OSError("the exchange is gone")

    monkeypatch.setattr(window, "return_feedback", unreachable)
    window.put("ada", "1")
    window.look()
    assert "the exchange is gone" in window.look(SETTLED)[0] and AttemptLog(window.folder, CHAPTER).of("ada") == []
    monkeypatch.undo()
    assert window.look(RETRY_AFTER) == ["ada: attempt 1: 0 of 0 points, returned"]


@pytest.mark.parametrize("error", [None, OSError("no more watches")])
def test_a_submission_in_work_is_graded_before_the_end(window, monkeypatch, error):
    # The file system reports no change, as on a network drive, or cannot watch the folder at all.
    end = Event()
    monkeypatch.setattr(watch.time, "sleep", lambda seconds: next(passing))

    def seconds(folder, **options):
        if error:
            raise error
        yield from passing

    def pass_by():
        for _ in range(20):
            window.now += 1
            yield set()
        end.set()
        yield set()

    def grade(students):
        end.set()
        return window.grade(students)

    passing = pass_by()
    monkeypatch.setattr(watch, "watch", seconds)
    monkeypatch.setattr(window.desk, "_grade", grade)
    window.put("ada", "1")
    assert [student for student, _ in watching_until(window.desk, window, end)] == ["ada"]
    assert [attempt.name for attempt in AttemptLog(window.folder, CHAPTER).of("ada")] == ["1"]


def test_feedback_is_returned_before_the_next_submission_is_graded(window):
    """Three students waited for the feedback of one whose submission slept."""
    for student in ("ada", "bob", "eve"):
        window.put(student, student)
    window.look()
    window.now += SETTLED
    lines = window.desk.look()
    for student in ("ada", "bob", "eve"):
        assert next(lines)[0] == student and window.graded[-1] == student
        assert len(AttemptLog(window.folder, CHAPTER).of(student)) == 1


def test_a_request_to_stop_waits_for_one_submission_and_the_others_are_graded_after_the_restart(window):
    window.put("ada", "1")
    window.put("bob", "2")
    window.look()
    window.now += SETTLED
    end, lines = Event(), []
    for line in watching_until(window.desk, window, end):
        lines.append(line)
        end.set()
    assert [student for student, _ in lines] == ["ada"] and window.graded == ["1"]
    window.open()
    window.look()
    assert window.look(SETTLED) == ["bob: attempt 1: 0 of 0 points, returned"] and window.graded == ["1", "2"]


def test_only_the_submission_that_failed_is_tried_again(window, monkeypatch):
    def grade(students):
        yield window.row("ada")
        raise Incomplete([window.row("ada")], ["bob: held"])

    monkeypatch.setattr(window.desk, "_grade", grade)
    window.put("ada", "1")
    window.put("bob", "2")
    window.look()
    failed = "bob: not yet, will be tried again: bob: held"
    assert window.look(SETTLED) == ["ada: attempt 1: 0 of 0 points, returned", failed]
    monkeypatch.undo()
    assert window.look(RETRY_AFTER) == ["bob: attempt 1: 0 of 0 points, returned"] and window.graded == ["2"]


@pytest.mark.sandbox
def test_sleepers_and_memory_hungry_submissions_end_after_the_others(course, hand_in, perfect, contents, monkeypatch):
    """Only the sleepers have a short limit of the wall clock. A busy machine does not stop the other submissions."""
    real, ended = worker.grade_submission, []

    def grade_submission(file, *arguments, alone):
        limits = replace(PATIENT, call_seconds=60.0, wall_factor=0.01) if b"sleep(600)" in file.raw else PATIENT
        try:
            return real(file, *arguments, limits, alone=alone)
        finally:
            ended.append(alone)

    def with_softmax(body):
        notebook = copy.deepcopy(perfect)
        (cell,) = (cell for cell in notebook["cells"] if cell["id"] == "softmax")
        cell["source"] = f"import time\ndef softmax(scores):\n    {body}"
        return json.dumps(notebook).encode()

    monkeypatch.setattr(worker, "grade_submission", grade_submission)
    monkeypatch.setattr(desk, "SETTLED", 0)
    for number in range(2):
        hand_in(f"a-sleeper-{number}", with_softmax(f"time.sleep(600)  # {number}"))
        hand_in(f"b-hungry-{number}", with_softmax(f"return np.ones(50 * 2**30 // 8)  # {number}"))
        hand_in(f"c-honest-{number}", contents["perfect"] + b"\n" * number)
    opened, _ = open_desk(course, CHAPTER, "submitted", AttemptRules())
    lines = [*opened.look()]
    students = [student for student, _ in lines]
    assert all(line.startswith("attempt 1: ") for _, line in lines)
    assert sorted(students[-2:]) == ["a-sleeper-0", "a-sleeper-1"] and len(set(students)) == 6
    assert ended == [False] * 6 + [True] * 2
    scores = {student: sum(of_student.values()) for student, of_student in computed_scores(course).items()}
    assert [scores[f"c-honest-{number}"] for number in range(2)] == [22, 22]
    assert all(scores[f"{kind}-{number}"] < 22 for kind in ("a-sleeper", "b-hungry") for number in range(2))
    assert not any(row.written for row in class_run.grade_class(course, CHAPTER))


def test_the_submitted_folder_is_an_inbox(course, hand_in, contents, monkeypatch):
    monkeypatch.setattr(desk, "SETTLED", 0)
    monkeypatch.setattr(desk, "ABANDONED", 0)
    hand_in("ada", contents["mistake-1"])
    hand_in("a[b]", contents["perfect"])
    hand_in("not-yet", b"").unlink()
    opened, inbox = open_desk(course, CHAPTER, None, AttemptRules())
    assert inbox.folder == course / "submitted"
    skipped, line = opened.look()
    assert skipped[0] == "a[b]" and line == ("ada", "attempt 1: 18 of 22 points, feedback written")
    assert (course / "feedback" / "ada" / CHAPTER / f"{CHAPTER}.html").exists()
    hand_in("ada", contents["mistake-1"] + b"\n")
    assert [*opened.look()] == [("ada", "attempt 2: 18 of 22 points, feedback written")] and not [*opened.look()]


# --------------------------------------------------------------------------------- nbgrader's exchange


@pytest.fixture
def exchange(course, tmp_path):
    """A course with an exchange, to which its chapter is released by nbgrader."""
    root = tmp_path / "exchange"
    root.mkdir()
    root.chmod(0o777)
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write(f"c.Exchange.root = {str(root)!r}\nc.Exchange.cache = {str(tmp_path / 'cache')!r}\n")
    nbgrader(ExchangeReleaseAssignment, course)
    return root / "default_course"


def nbgrader(step, course, **options):
    """Run one of nbgrader's own steps. A student's step needs the student's folder as assignment_dir."""
    config, coursedir = nbgrader_config(course), open_coursedir(course, CHAPTER)
    step(coursedir=coursedir, authenticator=Authenticator(config=config), config=config, **options).start()


def submit(course, folder, content):
    """Hand in with nbgrader, as the account that runs the tests."""
    notebook = folder / CHAPTER / f"{CHAPTER}.ipynb"
    notebook.parent.mkdir(parents=True, exist_ok=True)
    notebook.write_bytes(content)
    nbgrader(ExchangeSubmit, course, assignment_dir=str(folder))


def test_the_exchange_gives_only_the_owners_latest_submission(course, exchange, tmp_path):
    inbound = exchange / "inbound"
    submit(course, tmp_path / "home", b"{1}")
    submit(course, tmp_path / "home", b"{2}")
    others = f"eve+{CHAPTER}+2020-01-01 10:00:00 UTC+x", f"{ME}+02_backward+2099-01-01 10:00:00 UTC+x"
    for name in (*others, f"{ME}+{CHAPTER}+soon+x"):
        (inbound / name).mkdir()
    (arrival,), skipped = ExchangeInbox(course, CHAPTER).arrivals()
    assert arrival.student == ME and arrival.file.read_bytes() == b"{2}"
    assert skipped == {f"{ME}+{CHAPTER}+soon+x": "its name contains no time"}
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write("c.ExchangeCollect.check_owner = False\n")
    assert {arrival.student for arrival in ExchangeInbox(course, CHAPTER).arrivals()[0]} == {ME, "eve"}


def test_no_link_leads_out_of_the_exchange(course, exchange, tmp_path, monkeypatch):
    submit(course, tmp_path / "home", b"{1}")
    inbox = ExchangeInbox(course, CHAPTER)
    (arrival,), _ = inbox.arrivals()
    arrival.file.unlink()
    arrival.file.symlink_to(course / "secret_seed")
    monkeypatch.setattr(desk, "ABANDONED", 0)
    monkeypatch.setattr(desk, "SETTLED", 0)
    ((student, event),) = Desk(inbox, AttemptLog(course, CHAPTER), AttemptRules(), lambda students: [], Path).look()
    assert student == ME and "symbolic link" in event and AttemptLog(course, CHAPTER).of(ME) == []
    assert not list((course / "submitted").glob("*/*/*.ipynb"))
    nbgrader(ExchangeFetchFeedback, course, assignment_dir=str(tmp_path / "home"))
    (page,) = (tmp_path / "home").rglob("*.html")
    assert "was not graded: 01_attention.ipynb is a symbolic link" in page.read_text(encoding="utf-8")


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT ROOT: files of two accounts were not tried.")
@pytest.mark.parametrize("part", ["notebook", "folder"])
def test_a_submission_that_changes_its_owner_is_not_collected(course, exchange, tmp_path, part):
    """A hard link leads to another account's file, and two folders can be swapped."""
    submit(course, tmp_path / "home", b"{1}")
    inbox = ExchangeInbox(course, CHAPTER)
    arrivals, _ = inbox.arrivals()
    os.chown(arrivals[0].file if part == "notebook" else arrivals[0].file.parent, 4711, 4711)
    assert "belongs to another account" in inbox.collect(arrivals)[ME]
    assert not list((course / "submitted").glob("*/*/*.ipynb"))


# ---------------------------------------------------------------------------------- the command itself


@pytest.fixture
def watching(course):
    """watching(option, ...) -> a running `autograder watch`; it is ended after the test."""
    started = []

    def start(*options):
        command = [sys.executable, "-m", "autograder", "watch", CHAPTER, "--course", str(course), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        started.append(process)
        assert "Ctrl-C stops it" in process.stdout.readline()
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def line(process, words):
    """The next line that holds these words."""
    return next(line for line in process.stdout if words in line)


def test_a_student_fetches_feedback_on_a_new_submission(course, exchange, contents, tmp_path, watching):
    home = tmp_path / "home"
    process = watching("--attempts", "1")
    submit(course, home, contents["mistake-1"])
    assert f"{ME}: attempt 1 of 1: 18 of 22 points, feedback released" in line(process, "attempt 1")
    submit(course, home, contents["perfect"])
    assert f"{ME}: kept and not graded" in line(process, "kept")
    nbgrader(ExchangeFetchFeedback, course, assignment_dir=str(home))
    first, second = sorted(home.rglob("*.html"), key=lambda page: page.parent.name)
    assert "18 of 22 points" in first.read_text(encoding="utf-8")
    assert re.search(r"Your submission of [\d:]+ UTC .* was kept and not graded", second.read_text(encoding="utf-8"))
    process.send_signal(signal.SIGINT)
    assert line(process, "Stopped") and process.wait() == 0
    submit(course, home, contents["perfect"] + b"\n")  # while no desk is watching
    process = watching("--attempts", "2")
    assert "attempt 2 of 2: 22 of 22 points" in line(process, "attempt 2")
    assert sum(computed_scores(course)[ME].values()) == 22
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):  # both arrive while it watches
        process.send_signal(number)
    assert process.wait() == 0


@pytest.mark.parametrize(("given", "limit"), [([], 5), (["--attempts", "2"], 2), (["--attempts", "any"], None)])
def test_five_attempts_are_the_default(given, limit):
    parser = ArgumentParser()
    watch_command.add_arguments(parser)
    assert parser.parse_args([CHAPTER, *given]).attempts == limit


def test_a_missing_exchange_is_named(course, capsys):
    assert main(["watch", CHAPTER, "--course", str(course), "--from", "exchange"]) == 2
    assert "nbgrader release_assignment 01_attention" in capsys.readouterr().err


def test_two_commands_cannot_watch_one_chapter(course, capsys):
    with only_one(course, CHAPTER):
        assert main(["watch", CHAPTER, "--course", str(course)]) == 2
    assert "another `autograder watch` is watching 01_attention" in capsys.readouterr().err
