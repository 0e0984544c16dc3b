"""Grades as CSV, for Canvas and for Moodle: the tables have the gradebook's values and no formulas."""

import csv
import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.plugins.export import CsvExportPlugin

import autograder
from autograder.cli.main import main
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.exporters import CanvasExporter, CsvExporter, MoodleExporter
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
REPO = Path(autograder.__file__).parent.parent
NAMES = {
    "ada": ("Lovelace, Countess", 'Ada "Byron"'), "4711": ("Noether", "Emmy\nAmalie"), "zoë": ("O'Hara", "王"),
    "eve": ("=HYPERLINK(1)", "@SUM(A1)"), "=cmd|'/c calc'!A1": ("+1", "-1"), "absent": ("Who", "Never"),
}  # fmt: skip


@pytest.fixture(scope="module")
def course(released_course, tmp_path_factory):
    return shutil.copytree(released_course, tmp_path_factory.mktemp("exported") / "course")


@pytest.fixture(scope="module")
def gradebook(course):
    """Fill a gradebook. Ada was late, zoë has a manual score, one student lacks a score, and one has not submitted."""
    directory = open_coursedir(course, CHAPTER)
    with Gradebook(directory.db_url) as book:
        for student, (last, first) in NAMES.items():
            book.add_student(student, last_name=last, first_name=first, email=f"{student[:3]}@example.org")
        book.add_student("half-graded")
        for student in [*NAMES, "half-graded"]:
            if student != "absent":
                submission = book.add_submission(CHAPTER, student, timestamp=datetime(2026, 2, 3))
                for grade in submission.notebooks[0].grades:
                    grade.auto_score = grade.max_score
        for student, penalty in (("ada", 30), ("4711", 2.5), ("eve", 19.4)):  # 22 - 19.4 == 2.6000000000000014
            book.find_submission(CHAPTER, student).notebooks[0].late_submission_penalty = penalty
        book.find_grade("check-softmax", CHAPTER, CHAPTER, "zoë").manual_score = 1
        book.find_grade("check-softmax", CHAPTER, CHAPTER, "half-graded").auto_score = None
        book.db.commit()
        yield book


def table(exporter, gradebook, path):
    exporter(to=str(path)).export(gradebook)
    return list(csv.reader(path.open(newline="", encoding="utf-8")))


def test_nbgraders_own_export_puts_values_into_wrong_columns(gradebook, tmp_path):
    rows = table(CsvExportPlugin, gradebook, tmp_path / "stock.csv")
    assert {len(row) for row in rows} != {11}


def test_csv_keeps_every_name_in_its_column(gradebook, tmp_path):
    head, *rows = table(CsvExporter, gradebook, tmp_path / "grades.csv")
    of = {row[head.index("student_id")]: dict(zip(head, row, strict=True)) for row in rows}
    assert (of["ada"]["last_name"], of["ada"]["first_name"]) == NAMES["ada"]
    assert (of["4711"]["first_name"], of["zoë"]["first_name"]) == ("Emmy\nAmalie", "王")
    assert {student: row["score"] for student, row in of.items()} == {
        "ada": "0.0", "4711": "19.5", "zoë": "19.0", "eve": "2.6", "'=cmd|'/c calc'!A1": "22.0", "absent": "",
        "half-graded": "",
    }  # fmt: skip
    assert of["4711"]["raw_score"] == "22.0" and of["4711"]["max_score"] == "22.0"


@pytest.mark.parametrize("exporter", [CsvExporter, CanvasExporter, MoodleExporter])
def test_no_cell_begins_a_formula(gradebook, tmp_path, exporter):
    rows = table(exporter, gradebook, tmp_path / "grades.csv")
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert any("cmd" in cell for cell in cells) and any("SUM" in cell for cell in cells)


def test_canvas(gradebook, tmp_path):
    head, points, *rows = table(CanvasExporter, gradebook, tmp_path / "grades.csv")
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", CHAPTER]
    assert points == ["Points Possible", "", "", "", "", "22.0"]
    assert ["Noether, Emmy\nAmalie", "4711", "", "", "", "19.5"] in rows
    assert ["O'Hara, 王", "", "", "zoë", "", "19.0"] in rows
    assert ["Who, Never", "", "", "absent", "", ""] in rows


def test_moodle(gradebook, tmp_path):
    head, *rows = table(MoodleExporter, gradebook, tmp_path / "grades.csv")
    assert head == ["First name", "Last name", "Username", "ID number", "Email address", CHAPTER]
    assert ["王", "O'Hara", "zoë", "", "zoë@example.org", "19.0"] in rows


@pytest.mark.thorough("only another version of nbgrader changes its command")
def test_our_command_and_nbgraders_write_the_same(gradebook, course, tmp_path, capsys):
    ours, theirs = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    assert main(["export", CHAPTER, "--to=moodle", f"--output={ours}", "--course", str(course)]) == 0
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(
        [sys.executable, "-m", "nbgrader", "export", "--exporter=autograder.gradebook.exporters.MoodleExporter",
         f"--to={theirs}", f"--CourseDirectory.root={course}"],
        cwd=REPO, env=os.environ | {"PYTHONPATH": str(REPO), "PATH": path}, check=True, capture_output=True,
    )  # fmt: skip
    assert ours.read_bytes() == theirs.read_bytes() and CHAPTER.encode() in ours.read_bytes()


def test_a_chapter_that_has_only_a_due_date_is_not_exported(released_course, tmp_path, capsys):
    """Canvas would make an assignment of 0 points of its column."""
    course = shutil.copytree(released_course, tmp_path / "course")
    output = tmp_path / "grades.csv"
    main(["due", "02_backward", "--at", "2026-12-04", "--course", str(course)])
    assert main(["export", "--to", "canvas", f"--output={output}", "--course", str(course)]) == 0
    assert output.read_text().splitlines()[0].endswith(f"Section,{CHAPTER}")
    shutil.rmtree(course / "release")
    assert main(["export", f"--output={output}", "--course", str(course)]) == 2
    assert "no chapter is released in" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "words"), [
    (["10_nothing"], "there is no chapter '10_nothing'"), (["02_backward"], "02_backward is not released in"),
    (["--course", "/nowhere"], "there is no course in /nowhere"),
])  # fmt: skip
def test_a_wrong_argument_is_explained(arguments, words, course, capsys):
    assert main(["export", "--course", str(course), *arguments]) == 2
    assert words in capsys.readouterr().err
