"""One notebook, as grading would read and run it; no grade is written."""

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
        said = capsys.readouterr()
        return code, said.out, said.err

    return check


def test_a_perfect_notebook(checked):
    code, out, _ = checked("perfect")
    assert code == 0
    assert "anything.ipynb is the notebook of 01_attention, with 6 exercises." in out
    assert "Not written yet: none." in out and out.count("✓") == 6


def test_what_is_blank_and_what_is_wrong_is_said_as_check_says_it(checked):
    code, out, _ = checked("half-done")
    assert code == 1
    assert "Not written yet: self_attention" in out and "`self_attention` is not written yet" in out
    code, out, _ = checked("mistake-1")
    assert code == 1 and "Known mistake: normalises over the rows' axis." in out


def test_oddities_of_the_file_are_said(checked):
    code, out, _ = checked("doubled")
    assert code == 0 and "2 copies of the exercise cell" in out


def test_it_agrees_with_grading_where_a_tool_lost_the_metadata(course, hand_in, perfect, tmp_path, capsys):
    stripped = copy.deepcopy(perfect)
    for cell in stripped["cells"]:
        cell["metadata"] = {}
    hand_in("ada", json.dumps(stripped).encode())
    assert main(["grade", CHAPTER, "--course", str(course)]) == 0
    assert re.search(r"^ada .* 25$", capsys.readouterr().out, re.M)
    (tmp_path / "mine.ipynb").write_text(json.dumps(stripped))
    assert main(["submit-check", str(tmp_path / "mine.ipynb"), "--course", str(course)]) == 0
    assert "mine.ipynb is the notebook of 01_attention" in capsys.readouterr().out


def test_what_cannot_be_read_is_said(checked, tmp_path, course, capsys):
    code, _, err = checked("truncated", "01_attention.ipynb")
    assert code == 2 and "would score 0. The file ends in the middle" in err
    code, _, err = checked("no-notebook")
    assert code == 2 and "is not the notebook of a chapter released in" in err and "01_attention" in err
    assert main(["submit-check", str(tmp_path / "nothing.ipynb"), "--course", str(course)]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_no_grade_is_written_and_the_secret_seed_is_not_asked_for(checked, course):
    (course / "secret_seed").write_text("not a number: whoever reads this fails")
    before = {path: hashlib.sha256(path.read_bytes()).digest() for path in course.rglob("*") if path.is_file()}
    assert checked("perfect")[0] == 0
    after = {path: hashlib.sha256(path.read_bytes()).digest() for path in course.rglob("*") if path.is_file()}
    assert before == after
