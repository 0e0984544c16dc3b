"""Several submissions are written in one transaction. Neither a failure nor a kill loses one of them."""

import errno
import json
from concurrent.futures import Future

import pytest
from sqlalchemy import Engine, event

from autograder.gradebook import batch_writer, class_run
from autograder.grading import client
from autograder.grading.queue import GradingQueue
from autograder.progress_bar import batches_with_progress
from autograder.sandbox import SandboxUnavailable
from autograder.scores.rows import Incomplete
from tests.autograder.gradebook.graded_course import computed_scores
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
STUDENTS = ("ada", "bob", "eve")


class Killed(BaseException):
    """Ends a run as a kill does: nothing catches it."""


class AtOnce(client.Threads):
    """Has ended each task when it returns it."""

    def __init__(self, jobs):
        super().__init__(0)

    def submit(self, function, /, *arguments, pure):
        future = Future()
        client._run(future, function, arguments)
        return future

    def ncores(self):
        return {"this process": len(STUDENTS)}


@pytest.fixture
def three(course, hand_in, contents, monkeypatch):
    """Return a course with three submissions, which are written together because they are graded faster than that."""
    monkeypatch.setattr(client, "_threads", AtOnce)
    for student in STUDENTS:
        hand_in(student, contents["perfect"])
    return course


def totals(course):
    scores = computed_scores(course)
    return {student: sum(score or 0 for score in of_student.values()) for student, of_student in scores.items()}


def recorded(course):
    """Return the students whose autograded notebooks say that their scores are in the gradebook."""
    notebooks = (course / "autograded").glob(f"*/{CHAPTER}/{CHAPTER}.ipynb")
    records = {path.parent.parent.name: json.loads(path.read_text())["metadata"]["autograder"] for path in notebooks}
    return {student for student, record in records.items() if record["recorded"]}


def pages(course):
    return {path.parent.parent.name for path in (course / "feedback").glob(f"*/{CHAPTER}/{CHAPTER}.html")}


@pytest.fixture
def commits():
    """Return a list that gets an entry for each commit."""
    made = []

    def note(connection):
        made.append(connection)

    event.listen(Engine, "commit", note)
    yield made
    event.remove(Engine, "commit", note)


def test_a_batch_is_committed_once(three, commits):
    class_run.grade_class(three, CHAPTER, students=["ada"])
    of_one = len(commits)
    class_run.grade_class(three, CHAPTER, students=["bob", "eve"])
    assert len(commits) == 2 * of_one


def test_a_submission_that_cannot_be_written_does_not_keep_others_from_being_written(three, monkeypatch):
    save = batch_writer.save_scores

    def fail_for_bob(rows, counting, student, *others):
        if student == "bob":
            raise ValueError("no way")
        save(rows, counting, student, *others)

    monkeypatch.setattr(batch_writer, "save_scores", fail_for_bob)
    with pytest.raises(Incomplete, match="bob: ValueError: no way") as error:
        class_run.grade_class(three, CHAPTER)
    assert [row.student for row in error.value.rows if row.written] == ["ada", "eve"]
    assert totals(three) == {"ada": 22, "eve": 22}
    assert recorded(three) == pages(three) == {"ada", "eve"}


def test_a_disk_that_is_full_before_a_page_has_its_folder_is_named_for_each_submission(three, monkeypatch):
    """Removing the folder of such a page raised FileNotFoundError, which ended the run with a traceback."""

    def full(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(batch_writer, "notebook_text", full)
    with pytest.raises(Incomplete, match="No space left on device") as error:
        class_run.grade_class(three, CHAPTER)
    assert not any(row.written for row in error.value.rows)


@pytest.mark.parametrize(
    ("owner", "step", "scores"),
    [
        pytest.param(batch_writer, "page_values", {}, id="before"),
        pytest.param(batch_writer.Writer, "_put_in_place", dict.fromkeys(STUDENTS, 22), id="after"),
    ],
)
def test_a_kill_beside_the_commit_leaves_no_notebook_that_looks_recorded(three, monkeypatch, owner, step, scores):
    def kill(*arguments):
        raise Killed

    monkeypatch.setattr(owner, step, kill)
    with pytest.raises(Killed):
        class_run.grade_class(three, CHAPTER)
    assert totals(three) == scores
    assert not recorded(three) and not pages(three)
    monkeypatch.undo()
    assert all(row.written for row in class_run.grade_class(three, CHAPTER))
    assert totals(three) == dict.fromkeys(STUDENTS, 22)
    assert recorded(three) == pages(three) == set(STUDENTS)


def test_a_submission_counts_as_done_when_its_batch_is(capsys):
    lines = []
    for batch in batches_with_progress([range(10), range(10, 20), range(20, 25)], 25, "grading", "submissions"):
        lines.append((batch[-1], capsys.readouterr().err))
    assert lines == [(9, ""), (19, "grading: 10 of 25 submissions\n"), (24, "grading: 20 of 25 submissions\n")]
    assert capsys.readouterr().err == "grading: 25 of 25 submissions\n"


def test_what_is_graded_is_written_if_then_no_sandbox_is_left(three, monkeypatch):
    real = GradingQueue.graded

    def graded(queue, path):
        if path.parent.parent.name == "eve":
            raise SandboxUnavailable("no sandbox is left")
        return real(queue, path)

    monkeypatch.setattr(GradingQueue, "graded", graded)
    with pytest.raises(SandboxUnavailable):
        class_run.grade_class(three, CHAPTER, jobs=1)
    assert recorded(three) == pages(three) == {"ada", "bob"}
