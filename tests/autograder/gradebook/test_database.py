"""Gradebooks in PostgreSQL, and SQLite files that another program has locked."""

import csv
import json
import sqlite3
import tempfile
import threading
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.plugins import CsvExportPlugin
from sqlalchemy import Engine, event, text

from autograder.cli.main import main
from autograder.course.configuration import set_up_course
from autograder.gradebook import assignments, class_run, engine
from autograder.gradebook.assignments import refuse_unregistered
from autograder.gradebook.coursedir import open_coursedir
from autograder.release.publish import publish
from tests.autograder.gradebook import postgres
from tests.autograder.gradebook.graded_course import computed_scores
from tests.choosing import thinned
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


# ------------------------------------------------------------------------------------------- PostgreSQL


@pytest.fixture(scope="module")
def db_url():
    """Yield the address of an empty PostgreSQL database. Skip, with a reason, if there is no server."""
    if postgres.programs() is None:
        pytest.skip(f"NO POSTGRESQL: grading was not tested with it. {postgres.INSTALL}")
    with tempfile.TemporaryDirectory(prefix="pg-") as folder, postgres.server(Path(folder)) as url:
        yield url


@pytest.fixture(scope="module")
def on_postgres(db_url, contents, tmp_path_factory):
    """Return a graded course whose configuration names PostgreSQL."""
    course = tmp_path_factory.mktemp("postgres") / "course"
    course.mkdir()
    set_up_course(course)
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f"c.CourseDirectory.db_url = {db_url!r}\n")
    publish(course, [CHAPTER])
    for student in ("perfect", "mistake-1", "truncated"):
        hand_in(course, student, contents[student])
    rows = class_run.grade_class(course, CHAPTER)
    assert [row.why for row in rows] == ["new"] * 3
    return course


def hand_in(course, student, content):
    path = course / "submitted" / student / CHAPTER / f"{CHAPTER}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def totals(course):
    scores = computed_scores(course)
    return {student: sum(of_student.values()) for student, of_student in scores.items()}


@pytest.mark.thorough("the same in another database")
def test_a_class_is_graded_into_postgresql(on_postgres):
    assert not (on_postgres / "gradebook.db").exists()
    assert totals(on_postgres) == {"perfect": 22, "mistake-1": 18, "truncated": 0}
    assert not any(row.written for row in class_run.grade_class(on_postgres, CHAPTER))


@pytest.mark.thorough("the same in another database")
def test_a_regrade_keeps_manual_scores_in_postgresql(on_postgres):
    db_url = open_coursedir(on_postgres, CHAPTER).db_url
    with Gradebook(db_url) as gradebook:
        gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "mistake-1").manual_score = 3
        gradebook.find_comment("softmax", CHAPTER, CHAPTER, "mistake-1").manual_comment = "Zoë: schön, 王."
        gradebook.db.commit()
    class_run.grade_class(on_postgres, CHAPTER, students=["mistake-1"], force=True)
    page = (on_postgres / "feedback/mistake-1" / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")
    assert "21 of 22 points" in page and "Zoë: schön, 王." in page


@pytest.mark.thorough("the same in another database")
def test_nbgraders_export_and_formgraders_lists_work_on_postgresql(on_postgres, tmp_path):
    directory = open_coursedir(on_postgres, CHAPTER)
    with Gradebook(directory.db_url) as gradebook:
        CsvExportPlugin(to=str(tmp_path / "grades.csv")).export(gradebook)
        assert gradebook.average_assignment_score(CHAPTER) > 0
    with (tmp_path / "grades.csv").open(encoding="utf-8") as lines:
        assert {row["student_id"]: float(row["max_score"]) for row in csv.DictReader(lines)}["perfect"] == 22
    formgrader = NbGraderAPI(directory, config=directory.config)
    lists = [
        formgrader.get_assignments(),
        formgrader.get_students(),
        formgrader.get_notebooks(CHAPTER),
        formgrader.get_submissions(CHAPTER),
        formgrader.get_notebook_submissions(CHAPTER, CHAPTER),
        formgrader.get_student_submissions("perfect"),
        formgrader.get_student_notebook_submissions("perfect", CHAPTER),
    ]
    assert all(lists) and json.dumps(lists)


# --------------------------------------------------------------------------------------- how much a submission costs


@pytest.fixture
def statements(monkeypatch):
    """Return a list that gets each SQL statement that any gradebook executes, when each submission is written alone."""
    executed = []
    monkeypatch.setattr("autograder.gradebook.write.TOGETHER", 1)

    def note(connection, cursor, statement, *others):
        executed.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield executed
    event.remove(Engine, "before_cursor_execute", note)


def test_a_further_submission_costs_few_statements(course, contents, statements):
    counts = []
    for students in (["ada"], ["bob", "eve"]):
        for student in students:
            hand_in(course, student, contents["perfect"])
        before = len(statements)
        class_run.grade_class(course, CHAPTER, students=students)
        counts.append(len(statements) - before)
    assert 0 < counts[1] - counts[0] <= 35


def test_no_statement_for_a_submission_reads_the_rows_of_other_submissions(course, contents, statements):
    """Each of these statements took longer with every submission in the course."""
    _index_nothing(course)  # gradebooks of earlier versions have no indexes
    students = ("ada", "bob", "eve", "fay")
    for student in students:
        hand_in(course, student, contents["perfect"])
    class_run.grade_class(course, CHAPTER)
    of_each = [statement for statement, times in Counter(statements).items() if times >= len(students)]
    with sqlite3.connect(course / "gradebook.db") as gradebook:
        plans = {
            statement: [
                step for *_, step in gradebook.execute(f"EXPLAIN QUERY PLAN {statement}", [None] * statement.count("?"))
            ]
            for statement in of_each
        }
    tables = ("grade", "comment", "submitted_notebook", "submitted_assignment", "student")
    scans = {f"SCAN {table}" for table in tables}
    assert any("grade" in statement for statement in plans)
    assert not {statement: plan for statement, plan in plans.items() if scans & set(plan)}


def test_no_statement_for_a_submission_loads_its_assignment(course, contents, statements):
    """It would sum up the points of all cells of the chapter. nbgrader's `submission.duedate` does that."""
    students = ("ada", "bob", "eve", "fay")
    for student in students:
        hand_in(course, student, contents["perfect"])
    class_run.grade_class(course, CHAPTER)
    of_each = [statement for statement, times in Counter(statements).items() if times >= len(students)]
    assert any("assignment.duedate" in statement for statement in of_each)
    assert not [statement for statement in of_each if statement.endswith("FROM assignment \nWHERE assignment.id = ?")]


def _index_nothing(course):
    with sqlite3.connect(course / "gradebook.db") as gradebook:
        ours = gradebook.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
        for (name,) in ours:
            gradebook.execute(f"DROP INDEX {name}")


def test_the_patience_ends_with_its_context(course):
    url = open_coursedir(course, CHAPTER).db_url
    waiting = []
    for context in (engine.watched_engines, nullcontext):
        with context(), Gradebook(url) as gradebook:
            waiting.append(gradebook.db.execute(text("PRAGMA busy_timeout")).scalar())
    assert waiting == [1000 * engine.PATIENCE, 5000]


# ------------------------------------------------------------------------- a SQLite file locked by another program


@pytest.fixture
def held(course):
    """Return held("BEGIN EXCLUSIVE"), which locks the gradebook as another program does.

    It returns the connection, with which a test can release the lock.
    """
    connections = []

    def hold(how):
        connection = sqlite3.connect(course / "gradebook.db", isolation_level=None, check_same_thread=False)
        connections.append(connection)
        connection.execute(how)
        return connection

    yield hold
    for connection in connections:
        connection.close()


def without_progress(message):
    return "".join(line for line in message.splitlines(keepends=True) if not line.startswith("grading: "))


@pytest.mark.parametrize(
    "how",
    thinned(["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"], ["BEGIN IMMEDIATE"], "another lock of SQLite"),
    ids=["written", "exclusive"],
)
def test_a_gradebook_that_stays_locked_stops_the_run_with_a_message_and_loses_nothing(
    course, contents, held, how, monkeypatch, capsys
):
    for student in ("ada", "bob", "eve"):
        hand_in(course, student, contents["perfect"])
    class_run.grade_class(course, CHAPTER, students=["ada"])
    hand_in(course, "ada", contents["mistake-1"])
    monkeypatch.setattr(engine, "PATIENCE", 0.2)
    lock = held(how)
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    message = without_progress(capsys.readouterr().err)
    assert "another program has held the gradebook" in message and "the same command continues from there" in message
    assert message.count("\n") == 2  # one line says what happened and one says why, not one line for each student
    lock.execute("ROLLBACK")
    rows = {row.student: row for row in class_run.grade_class(course, CHAPTER)}
    assert totals(course) == {"ada": 18, "bob": 22, "eve": 22}
    assert all(row.written for row in rows.values())


@pytest.mark.parametrize(
    "command",
    thinned(
        [["release", CHAPTER], ["report", CHAPTER], ["collect", CHAPTER, "downloads"], ["export"]],
        [["collect", CHAPTER, "downloads"], ["export"]],
        "the same message of another command",
    ),
    ids=lambda command: command[0],
)
def test_each_command_explains_a_locked_gradebook(course, contents, held, command, monkeypatch, tmp_path, capsys):
    (tmp_path / "downloads").mkdir()
    hand_in(course, "ada", contents["perfect"])
    class_run.grade_class(course, CHAPTER)
    monkeypatch.setattr(engine, "PATIENCE", 0.2)
    monkeypatch.chdir(tmp_path)
    held("BEGIN EXCLUSIVE")
    capsys.readouterr()
    assert main([*command, "--course", str(course)]) == 2
    message = capsys.readouterr().err
    assert "another program has held the gradebook" in message and message.count("\n") == 1


@pytest.mark.parametrize("command", ["due", "roster"])
def test_a_gradebook_that_cannot_be_written_gets_one_line(course, held, command, monkeypatch, tmp_path, capsys, caplog):
    """nbgrader logs such an error with a traceback, and raises it as well."""
    monkeypatch.setattr(engine, "PATIENCE", 0.2)
    (tmp_path / "students.csv").write_text("First name,Last name,ID number\nAda,Lovelace,4711\n")
    more = {"due": [CHAPTER, "--at", "2026-12-04"], "roster": [str(tmp_path / "students.csv")]}[command]
    held("BEGIN IMMEDIATE")
    assert main([command, *more, "--course", str(course)]) == 2
    message = capsys.readouterr().err
    assert "another program has held the gradebook" in message and message.count("\n") == 1 and not caplog.records


def test_a_release_that_cannot_write_publishes_nothing(course, held, monkeypatch, capsys):
    monkeypatch.setattr(engine, "PATIENCE", 0.2)
    notebook = course / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    notebook.write_bytes(before := notebook.read_bytes() + b" ")
    held("BEGIN IMMEDIATE")
    assert main(["release", CHAPTER, "--course", str(course)]) == 2
    assert "another program has held the gradebook" in capsys.readouterr().err
    assert notebook.read_bytes() == before


def test_grading_waits_for_a_gradebook_that_is_locked_for_a_moment(course, contents, held, monkeypatch):
    hand_in(course, "ada", contents["perfect"])
    lock = held("BEGIN EXCLUSIVE")

    def release_soon(*arguments):
        threading.Timer(0.5, lock.execute, ["ROLLBACK"]).start()
        return refuse_unregistered(*arguments)

    monkeypatch.setattr(assignments, "refuse_unregistered", release_soon)
    (row,) = class_run.grade_class(course, CHAPTER)
    assert row.written and totals(course) == {"ada": 22}


def test_a_server_that_does_not_answer_gives_one_line(course, contents, capsys):
    hand_in(course, "ada", contents["perfect"])
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write('c.CourseDirectory.db_url = "postgresql://teacher@/grades?host=/nowhere"\n')
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    message = capsys.readouterr().err
    assert "the gradebook cannot be used: connection is bad" in message and "Traceback" not in message
