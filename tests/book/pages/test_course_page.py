"""The commands on the page *Run the course* work, one after another."""

import json
import re
import shlex
import zipfile
from pathlib import Path

import pytest

from autograder.authoring import kill_table
from autograder.cli.main import main
from autograder.example import example_class
from autograder.grading import certificates
from tests.book.conftest import ROOT
from tests.conftest import CHAPTER

pytestmark = pytest.mark.book

PAGE = (ROOT / "chapters" / "course.md").read_text(encoding="utf-8")
STUDENTS = ("perfect", "mistake-1", "truncated")
COMMANDS = re.findall(r"^\.venv/bin/autograder (.*)$", "\n".join(re.findall(r"```shell\n(.*?)```", PAGE, re.S)), re.M)


@pytest.fixture
def week(released_course, tmp_path, monkeypatch):
    """Make an empty course in the current folder, with the download and the notebook that the page assumes."""
    examples = {example.student: example.content for example in example_class.examples(released_course, CHAPTER)}
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
        for number, student in enumerate(STUDENTS):
            archive.writestr(f"Somebody_{number}_assignsubmission_file/{CHAPTER}.ipynb", examples[student])
    tables = {
        "participants.csv": ("First name,Last name,ID number,Email address", "Some,Body,{0},{0}@x.org"),
        "worksheet.csv": ("Identifier,ID number,Grade,Last modified (grade)", "Participant {1},{0},,-"),
        "gradebook.csv": ("Student,ID,SIS Login ID,Section,Attention: 01_attention (77)", "X,{1},{0},A,"),
    }
    for name, (heads, row) in tables.items():
        rows = [heads, *(row.format(student, number) for number, student in enumerate(STUDENTS))]
        (tmp_path / name).write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "their_notebook.ipynb").write_bytes(examples["perfect"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.thorough("tests of the rooms and of the command line run each command")
def test_the_commands_of_the_page_work(week, capsys, monkeypatch):
    assert len(COMMANDS) > 10
    monkeypatch.setattr(kill_table, "both_named", lambda *pair: True)  # other tests run the 800 pairs
    roster = week / "course" / "roster.json"
    for command in COMMANDS:
        if "--to canvas" in command:  # a class is on one platform; here we give Moodle's students to Canvas
            of_moodle = roster.read_text(encoding="utf-8")
            of_canvas = {student: {"ID": str(number)} for number, student in enumerate(STUDENTS)}
            roster.write_text(json.dumps(json.loads(of_moodle) | {"identifiers": of_canvas}), encoding="utf-8")
        assert main(shlex.split(command)) == 0, (command, *capsys.readouterr())
        if "--to canvas" in command:
            roster.write_text(of_moodle, encoding="utf-8")
        out = capsys.readouterr().out
        if "--force" in command:
            assert "0 students would get a different score" in out
    assert sorted(path.name for path in (week / "course" / "feedback").iterdir()) == [
        "mistake-1",
        "perfect",
        "truncated",
    ]
    assert (week / "course" / "report" / CHAPTER / "index.html").exists()
    assert "mistake-1" in (week / "canvas.csv").read_text(encoding="utf-8")


def test_the_page_shows_the_commands_that_start_scheduler_and_workers():
    commands = re.sub(r" *\\\n *", " ", PAGE)
    assert certificates.scheduler_command(Path("tls")) + "\n" in commands
    assert certificates.worker_command("tls://HOST:8786", Path("tls")) + " --nthreads 4\n" in commands
