"""The log of changed scores: who changed which score, by how much, why and when."""

import json
import os
import pwd
import resource
from datetime import datetime

import pytest

from autograder.cli.main import main
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.score_log import FILE, ScoreChange, _append, account, log_changes, read_changes
from tests.autograder.gradebook.graded_course import grade_by_hand, graded, open_gradebook
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading

ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def ada(course, hand_in, contents, monkeypatch):
    """Return a graded course: ada's softmax is wrong, 18 of 22 points."""
    monkeypatch.delenv("SUDO_USER", raising=False)
    hand_in("ada", contents["mistake-1"])
    graded(course)
    return course


def entries(course):
    """Return who, before, after, why and the parts of each change that the log has."""
    return [(c.who, c.before, c.after, c.why, dict(c.parts)) for c in read_changes(course)]


def test_grading_logs_each_changed_score_and_why(ada, hand_in, contents):
    ((who, before, after, why, parts),) = entries(ada)
    assert (who, before, after, why) == (ME, None, 18, "new") and parts["softmax"] == (None, 0)
    graded(ada, force=True)
    assert len(entries(ada)) == 1  # the same scores
    hand_in("ada", contents["perfect"])
    graded(ada)
    assert entries(ada)[1:] == [(ME, 18, 22, "handed in again", {"softmax": (0, 4)})]


@pytest.mark.thorough("test_rerun shows that a dry run writes nothing")
def test_a_dry_run_logs_nothing(ada, hand_in, contents):
    hand_in("ada", contents["perfect"])
    graded(ada, dry_run=True)
    assert len(entries(ada)) == 1


@pytest.mark.thorough("more reasons of the same kind")
def test_late_credit_extensions_and_voids_are_reasons(ada):
    stamp = ada / "submitted" / "ada" / CHAPTER / "timestamp.txt"
    stamp.write_text("2026-02-04 12:00:00 UTC", encoding="utf-8")
    course = ["--course", str(ada)]
    assert main(["due", CHAPTER, "--at", "2026-02-03", "--late", "50%", "2026-02-10", *course]) == 0
    graded(ada)
    assert main(["extend", "ada", CHAPTER, "--until", "2026-02-09", *course]) == 0
    graded(ada)
    assert main(["void", "softmax", "--credit-all", *course]) == 0
    when_due = "the due date or the time of handing in changed"
    assert entries(ada)[1:] == [
        (ME, 18, 9, when_due, {"(late)": (None, -9)}),
        (ME, 9, 18, when_due, {"(late)": (-9, None)}),
        (ME, 18, 22, "`softmax` is void", {"softmax": (0, 4)}),
    ]


@pytest.mark.thorough("another reason of the same kind")
def test_an_answered_request_is_a_reason(ada):
    (ada / "submitted" / "ada" / CHAPTER / "regrade.txt").write_text("softmax: it is right", encoding="utf-8")
    assert main(["answer", "ada", CHAPTER, "softmax", "Half of it.", "--points", "2", "--course", str(ada)]) == 0
    reason = "regrade request about `softmax` answered"
    assert entries(ada)[1:] == [(ME, 18, 20, reason, {"softmax": (0, 2)})]


def test_the_next_command_notices_what_another_program_changed(ada, capsys):
    grade_by_hand(ada, "check-softmax", manual_score=3)
    assert main(["history", CHAPTER, "--course", str(ada)]) == 0
    out = capsys.readouterr().out
    assert "18 → 21" in out and "softmax 0 → 3" in out and "outside of autograder" in out and "unknown" in out
    assert "2 changes" in out


@pytest.mark.parametrize("command", [["history"], ["due", CHAPTER], ["due", CHAPTER, "--at", "2026-12-04"]])
def test_a_wrong_folder_does_not_become_a_course(tmp_path, capsys, command):
    assert main([*command, "--course", str(tmp_path / "corse")]) == 2
    assert f"there is no course in {tmp_path / 'corse'}" in capsys.readouterr().err and not any(tmp_path.iterdir())


def test_history_of_a_misspelled_student_does_not_look_empty(ada, capsys):
    with open_gradebook(ada) as gradebook:
        gradebook.add_student("bob12")
    assert main(["history", "--student", "bob21", "--course", str(ada)]) == 2
    assert "no student 'bob21' in the gradebook; did you mean `bob12`?" in capsys.readouterr().err
    assert main(["history", "--student", "bob12", "--course", str(ada)]) == 0
    assert "0 changes" in capsys.readouterr().out


def test_history_can_show_one_student(ada, hand_in, contents, capsys):
    hand_in("bob", contents["perfect"])
    graded(ada)
    assert main(["history", "--student", "bob", "--course", str(ada)]) == 0
    out = capsys.readouterr().out
    assert "none → 22" in out and "ada" not in out and "1 change." in out


def test_the_log_of_an_older_course_begins_with_its_scores(ada):
    (ada / "scores.log").unlink()
    assert main(["history", "--course", str(ada)]) == 0
    ((who, before, after, why, _),) = entries(ada)
    assert (who, before, after, why) == ("unknown", None, 18, "in the gradebook when the log began")


def test_the_log_only_grows_and_is_the_owners_alone(ada):
    path = ada / "scores.log"
    before = path.read_bytes()
    grade_by_hand(ada, "check-softmax", manual_score=3)
    graded(ada)
    assert path.read_bytes().startswith(before) and len(path.read_bytes()) > len(before)
    assert path.stat().st_mode & 0o077 == 0
    assert all(json.loads(line)["student"] == "ada" for line in path.read_text().splitlines())


def test_a_score_that_is_gone_is_logged(ada):
    coursedir = open_coursedir(ada, CHAPTER)
    with open_gradebook(ada) as gradebook:
        gradebook.remove_submission(CHAPTER, "ada")
        (change,) = log_changes(gradebook, coursedir, "removed", {}, "ines")
        assert (change.before, change.after, change.who) == (18, None, "ines")
        assert log_changes(gradebook, coursedir, "removed", {}, "ines") == []


def test_a_damaged_log_is_named_before_anything_is_graded(ada, hand_in, contents, capsys):
    with (ada / "scores.log").open("a") as log:
        log.write("{\n")
    hand_in("ada", contents["perfect"])
    assert main(["grade", CHAPTER, "--course", str(ada)]) == 2
    assert "scores.log is damaged" in capsys.readouterr().err


def test_a_disk_that_fills_up_leaves_no_half_line(tmp_path):
    path, change = tmp_path / FILE, ScoreChange(datetime(2026, 2, 3), ME, "ada", CHAPTER, None, 21, "new")
    _append(path, [change])
    earlier, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(earlier) + 20, limits[1]))
    try:
        with pytest.raises(OSError):
            _append(path, [change])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == earlier and read_changes(tmp_path) == [change]


def test_sudo_names_the_person(monkeypatch):
    monkeypatch.setenv("SUDO_USER", "ines")
    assert account() == f"ines as {ME}"
