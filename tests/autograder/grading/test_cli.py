"""The command: its options, its words, its exit codes."""

import pytest

from autograder.cli.main import main
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


def test_grade_ends_with_a_table_and_names_whom_to_look_at(course, hand_in, contents, capsys):
    hand_in("ada", contents["perfect"])
    hand_in("bob", contents["truncated"])
    assert main(["grade", CHAPTER, "--course", str(course), "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[-1] for line in out.splitlines() if line.startswith(("ada", "bob"))] == ["25", "0"]
    assert "bob: The file ends in the middle" in out
    assert "2 graded, 0 reports reused, 2 written to the gradebook.\n  2 written: new" in out


def test_mistakes_shows_which_case_catches_which(capsys, tmp_path):
    assert main(["mistakes", CHAPTER, "--course", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "does not subtract the maximum" in out and "right rewrites: " in out


@pytest.mark.parametrize(("arguments", "words"), [
    (["grade", "10_nothing"], "there is no chapter '10_nothing'; there are: 01_attention"),
    (["mistakes", "10_nothing"], "there are: 01_attention"),
    (["release", "10_nothing"], "there are: 01_attention"),
    (["grade", CHAPTER], "run `autograder release 01_attention` first"),
])  # fmt: skip
def test_what_is_wrong_is_one_line_and_exit_code_2(arguments, words, tmp_path, capsys):
    assert main([*arguments, "--course", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_nobody_handed_in(course, capsys):
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    assert "submitted/STUDENT/01_attention/01_attention.ipynb" in capsys.readouterr().err


def test_an_id_nbgrader_cannot_handle(course, hand_in, contents, capsys):
    hand_in("a[b]", contents["perfect"])
    assert main(["grade", CHAPTER, "--course", str(course)]) == 2
    assert "rename a[b]" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["release", "collect", "submit-check", "grade", "export", "mistakes"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0
    assert "--course DIR" in capsys.readouterr().out
