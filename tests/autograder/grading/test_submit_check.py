"""`submit-check` reads and runs one notebook as grading does, and stores no score."""

import copy
import hashlib
import json
import re

import pytest

from autograder.cli.main import main
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.fixture
def checked(course, contents, tmp_path, capsys):
    """checked(student, name) -> exit code, stdout, stderr of submit-check on that student's notebook."""

    def check(student, name="anything.ipynb"):
        file = tmp_path / name
        file.write_bytes(contents[student])
        code = main(["submit-check", str(file), "--course", str(course)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return check


def test_a_perfect_notebook_passes(checked):
    code, out, _ = checked("perfect")
    assert code == 0
    assert "anything.ipynb is the notebook of 01_attention, with 5 exercises." in out
    assert "Not written yet: none." in out and out.count("✓") == 5


def test_blank_and_wrong_exercises_are_reported_as_by_check(checked):
    code, out, _ = checked("half-done")
    assert code == 1
    assert "Not written yet: attention, " in out and "`attention` is not written yet" in out
    code, out, _ = checked("mistake-1")
    assert code == 1 and "Known mistake: normalises over the rows' axis." in out


def test_notes_on_the_file_are_shown(checked):
    code, out, _ = checked("doubled")
    assert code == 0 and "2 copies of the exercise cell" in out


def test_a_notebook_without_metadata_is_read_as_by_grading(course, hand_in, perfect, tmp_path, capsys):
    stripped = copy.deepcopy(perfect)
    for cell in stripped["cells"]:
        cell["metadata"] = {}
    hand_in("ada", json.dumps(stripped).encode())
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    assert re.search(r"^ada .* 22$", capsys.readouterr().out, re.M)
    (tmp_path / "mine.ipynb").write_text(json.dumps(stripped))
    assert main(["submit-check", str(tmp_path / "mine.ipynb"), "--course", str(course)]) == 0
    assert "mine.ipynb is the notebook of 01_attention" in capsys.readouterr().out


def test_the_message_says_why_a_file_cannot_be_checked(checked, tmp_path, course, capsys):
    code, _, err = checked("truncated", "01_attention.ipynb")
    assert code == 2 and "would score 0. The file ends in the middle" in err
    code, _, err = checked("no-notebook")
    assert code == 2 and "is not the notebook of a chapter released in" in err and "01_attention" in err
    assert main(["submit-check", str(tmp_path / "nothing.ipynb"), "--course", str(course)]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_no_file_is_changed_and_the_secret_seed_is_not_read(checked, course):
    (course / "secret_seed").write_text("not a number, so that reading it fails")
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in course.rglob("*") if path.is_file()}
    assert checked("perfect")[0] == 0
    after = {path: hashlib.sha256(path.read_bytes()).digest() for path in course.rglob("*") if path.is_file()}
    assert before == after
