"""Every submitted file gets a score and a report in plain words, and affects no other submission."""

import copy
import hashlib
import json
import os
import shutil

import pytest

from autograder.gradebook import class_run
from tests.autograder.gradebook.graded_course import computed_scores
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
FULL = 22


def cell(notebook, name):
    return next(item for item in notebook["cells"] if item["id"] == name)


def edited(edit):
    """Return a function that makes a file from the perfect notebook after `edit(notebook)`."""

    def make(perfect):
        notebook = copy.deepcopy(perfect)
        return dump(edit(notebook) or notebook)

    return make


def dump(notebook):
    return json.dumps(notebook, indent=1).encode()


def bytes_of(change):
    return lambda perfect: change(dump(perfect))


def format_3(notebook):
    cells = [{**c, "input": c["source"]} if c["cell_type"] == "code" else c for c in notebook["cells"]]
    for old_cell in cells:
        old_cell.pop("id")
        if "input" in old_cell:
            old_cell.pop("source")
    sheets = [{"cells": cells, "metadata": {}}]
    return {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": sheets}


def other_chapter(notebook):
    for item in notebook["cells"]:
        about = item["metadata"]["nbgrader"]
        if about["grade"] or about["solution"]:
            about["grade_id"] = item["id"] = f"{about['grade_id']}_other"


def without(*names):
    return lambda notebook: {**notebook, "cells": [item for item in notebook["cells"] if item["id"] not in names]}


def doubled(notebook):
    notebook["cells"].append(copy.deepcopy(cell(notebook, "softmax")))


def retyped(notebook):
    softmax = cell(notebook, "softmax")
    softmax["cell_type"] = "markdown"
    del softmax["outputs"], softmax["execution_count"]


def edited_checks(notebook):
    for item in notebook["cells"]:
        if item["id"].startswith("check-"):
            item["source"] = "pass"
            item["metadata"]["nbgrader"]["points"] = 1000


def skipping(notebook):
    for item in notebook["cells"]:
        item["metadata"]["tags"] = ["skip-execution", "free marks"]
    cell(notebook, "repaired_attention")["source"] = "raise SystemExit"


def attached(notebook):
    notebook["cells"].append(
        {
            "cell_type": "markdown",
            "id": "../../x",
            "source": "![a](attachment:../../../evil.png)",
            "metadata": {"nbgrader": {"grade_id": "/etc/passwd"}},
            "attachments": {"../../../evil.png": {"image/png": "AAAA"}},
        }
    )


def flooded(notebook):
    flood = {"output_type": "stream", "name": "stdout", "text": "x" * 100_000_000}
    cell(notebook, "softmax")["outputs"] = [flood]


def malformed_cells(notebook):
    bad = [{"cell_type": "code"}, {"cell_type": "code", "source": 5}, {"cell_type": "quiz", "source": ""}]
    notebook["cells"][3:3] = [None, 7, *bad]


def half_a_surrogate(notebook):
    notebook["cells"].append({"cell_type": "code", "source": "x = '\ud800'", "metadata": {}})


def kernel(notebook):
    notebook["metadata"]["kernelspec"] = {"name": "julia-1.9"}


def commands(notebook):
    softmax = cell(notebook, "softmax")
    softmax["source"] = "%matplotlib inline\n!pip list\n" + "".join(softmax["source"])


def windows(raw):
    return raw.replace(b"\n", b"\r\n").replace(rb"\n", rb"\r\n")


# Student -> what makes the file, its score, and words of the report ("" if it has no notes).
ROWS = {
    "empty": (lambda perfect: b"", 0, "is empty"),
    "truncated": (bytes_of(lambda raw: raw[: len(raw) // 2]), 0, "ends in the middle"),
    "no JSON": (lambda perfect: b"\x89PNG\r\n\x1a\n", 0, "not a notebook"),
    "no notebook": (lambda perfect: b'{"name": "Ada"}', 0, "holds no list of cells"),
    "deep": (lambda perfect: b'{"cells": ' + b"[" * 100_000, 0, "not a notebook"),
    "other chapter": (edited(other_chapter), 0, "This is the notebook of 02_other"),
    "format 3": (edited(format_3), FULL, "old format 3"),
    "missing exercise": (edited(without("repaired_attention")), FULL - 4, "the exercise cell of repaired_attention"),
    "missing check": (edited(without("check-softmax", "prose-001")), FULL, "the check cell of softmax"),
    "doubled": (edited(doubled), FULL, "2 copies of the exercise cell of softmax"),
    "reordered": (edited(lambda notebook: notebook["cells"].reverse()), FULL, "not that of the chapter"),
    "retyped": (edited(retyped), FULL, "had become a markdown cell"),
    "edited checks": (edited(edited_checks), FULL, "Edited, and restored as released"),
    "edited points": (edited(edited_checks), FULL, "were changed; the released points count"),
    "tags": (edited(skipping), FULL - 4, "“skip-execution” ignored"),
    "kernel": (edited(kernel), FULL, "julia-1.9"),
    "Windows": (bytes_of(windows), FULL, "Windows line endings"),
    "byte-order mark": (bytes_of(lambda raw: b"\xef\xbb\xbf" + raw), FULL, "byte-order mark"),
    "100 MB of output": (edited(flooded), FULL, "Clear the outputs"),
    "malformed cells": (edited(malformed_cells), FULL, "5 cells could not be read"),
    "half a surrogate": (edited(half_a_surrogate), FULL, ""),
    "paths as ids": (edited(attached), FULL, ""),
    "commands": (edited(commands), FULL, "“!pip list”"),
    "Zoë 王 O'Hara": (bytes_of(bytes), FULL, ""),
    "link to another": (None, 0, "is a symbolic link"),
    "folder for a file": (None, 0, "not a file but a folder"),
    "misnamed": (None, 0, "it holds “ 01_attention (1).ipynb”"),
    "nothing": (None, 0, "it is empty"),
    "strange files beside": (bytes_of(bytes), FULL, ""),
    "no time": (bytes_of(bytes), FULL, ""),
    "honest": (bytes_of(bytes), FULL, ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def graded(released_course, perfect, tmp_path_factory):
    """The rows as one class, graded in one run."""
    course = tmp_path_factory.mktemp("bad") / "course"
    shutil.copytree(released_course, course)
    other = copy.deepcopy(perfect)
    other_chapter(other)
    (course / "release" / "02_other").mkdir()
    (course / "release" / "02_other" / "02_other.ipynb").write_bytes(dump(other))
    for student, (make, _, _) in ROWS.items():
        folder = course / "submitted" / student / CHAPTER
        folder.mkdir(parents=True)
        if make:
            (folder / f"{CHAPTER}.ipynb").write_bytes(make(perfect))
    folders = {student: course / "submitted" / student / CHAPTER for student in ROWS}
    (folders["link to another"] / f"{CHAPTER}.ipynb").symlink_to(folders["honest"] / f"{CHAPTER}.ipynb")
    (folders["folder for a file"] / f"{CHAPTER}.ipynb").mkdir()
    (folders["misnamed"] / f" {CHAPTER} (1).ipynb").write_bytes(dump(perfect))
    (folders["no time"] / "timestamp.txt").write_text("yesterday, I think")
    _strange_files(folders["strange files beside"], course)
    before = _digest(course / "submitted"), sorted(course.parent.iterdir())
    rows = {row.student: row for row in class_run.grade_class(course, CHAPTER)}
    assert before == (_digest(course / "submitted"), sorted(course.parent.iterdir()))
    return rows, course


def _strange_files(folder, course):
    (folder / "passwords").symlink_to("/etc/passwd")
    (folder / "data.db").symlink_to(course / "gradebook.db")
    (folder / "broken").symlink_to("/nowhere")
    (folder / "everything").symlink_to(course, target_is_directory=True)
    (folder / "..\\..\\evil.ipynb").write_text("{}")
    (folder / "C:\\evil.txt").write_text("x")
    os.mkfifo(folder / "pipe")


def _digest(folder):
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("student", ROWS)
def test_every_submission_gets_its_score_and_its_notes(graded, student):
    rows, _ = graded
    _, score, words = ROWS[student]
    report = rows[student].report
    text = " ".join([report.trouble, *report.notes])
    assert report.earned == score, text
    assert (words in text) if words else text == ""


@pytest.mark.parametrize("student", ROWS)
def test_the_gradebook_and_the_feedback_agree_with_the_report(graded, student):
    rows, course = graded
    scores = computed_scores(course)
    assert sum(scores[student].values()) == ROWS[student][1]
    page = (course / "feedback" / student / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")
    assert f"{ROWS[student][1]} of 22 points" in page
    if rows[student].report.trouble:
        assert "This submission could not be graded" in page


def test_other_files_of_a_submission_are_not_copied(graded):
    _, course = graded
    for step in ("autograded", "feedback"):
        names = {path.name for path in (course / step).rglob("*") if not path.is_dir()}
        assert names <= {f"{CHAPTER}.ipynb", f"{CHAPTER}.html"}
        assert not any(path.is_symlink() for path in (course / step).rglob("*"))
