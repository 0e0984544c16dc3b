"""The commands of the instructors' page work, one after the other, so that the page cannot grow old."""

import re
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

PAGE = (ROOT / "chapters" / "teaching.md").read_text(encoding="utf-8")
STUDENTS = ("perfect", "mistake-1", "truncated")
COMMANDS = re.findall(r"^\.venv/bin/autograder (.*)$", "\n".join(re.findall(r"```shell\n(.*?)```", PAGE, re.S)), re.M)


@pytest.fixture
def week(released_course, tmp_path, monkeypatch):
    """An empty course in the current folder, and what the page takes for granted: a download, and one notebook."""
    made = {each.student: each.content for each in example_class.examples(released_course, CHAPTER)}
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
        for number, student in enumerate(STUDENTS):
            archive.writestr(f"Somebody_{number}_assignsubmission_file/{CHAPTER}.ipynb", made[student])
    tables = {
        "participants.csv": ("First name,Last name,ID number,Email address", "Some,Body,{0},{0}@x.org"),
        "worksheet.csv": ("Identifier,ID number,Grade,Last modified (grade)", "Participant {1},{0},,-"),
        "gradebook.csv": ("Student,ID,SIS Login ID,Section,Attention: 01_attention (77)", "X,{1},{0},A,"),
    }
    for name, (heads, row) in tables.items():
        rows = [heads, *(row.format(student, number) for number, student in enumerate(STUDENTS))]
        (tmp_path / name).write_text("\n".join(rows), encoding="utf-8")
    (tmp_path / "their_notebook.ipynb").write_bytes(made["perfect"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_week_goes_as_told(week, capsys, monkeypatch):
    assert len(COMMANDS) > 10
    monkeypatch.setattr(kill_table, "both_named", lambda *pair: True)  # of 800 pairs; has tests of its own
    for command in COMMANDS:
        assert main(command.split()) == 0, (command, capsys.readouterr().err)
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


def test_scheduler_and_workers_are_started_as_the_command_says():
    told = re.sub(r" *\\\n *", " ", PAGE)
    assert certificates.scheduler_command(Path("tls")) + "\n" in told
    assert certificates.worker_command("tls://HOST:8786", Path("tls")) + " --nthreads 4\n" in told
