"""Reusable comments: a #key in formgrader's comment field becomes a text on the feedback page."""

import pytest

from autograder.cli.main import main
from autograder.course.comments import EXAMPLE, FILE, expanded, keys_in, load_comments
from autograder.errors import UserError
from tests.autograder.gradebook.graded_course import comment, graded, page
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading
COMMENTS = {"seeds": "Run *two* seeds.", "limits": "What else changed?"}


@pytest.mark.parametrize(("typed", "read"), [
    ("#seeds", "Run *two* seeds."),
    ("Well done. #seeds #limits.", "Well done. Run *two* seeds. What else changed?."),
    ("(#seeds)", "(Run *two* seeds.)"),
    ("#sedes", ""),
    ("# Heading\n\nsee #3, C#seeds, https://a.org/b#limits, /#limits and &#limits", None),
])  # fmt: skip
def test_keys_become_their_texts(typed, read):
    assert expanded(typed, COMMENTS) == (typed if read is None else read)


def test_without_reusable_comments_a_comment_stays_as_it_is():
    assert expanded(" #seeds", {}) == " #seeds" and keys_in("#a #b #a") == ["a", "b"]


@pytest.mark.parametrize(("text", "words"), [
    ("seeds: a: b", "cannot be read"),
    ("- seeds", "write a line for each comment"),
    ("My Key: text", "the key 'My Key' is not a word of small letters"),
    ("1: text", "the key 1 is not a word"),
    ("seeds: 5", "the comment 'seeds' is not a text"),
    ("seeds:", "the comment 'seeds' is not a text"),
])  # fmt: skip
def test_a_bad_file_is_refused_with_its_path(tmp_path, text, words):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UserError, match=words) as error:
        load_comments(tmp_path)
    assert str(tmp_path / FILE) in str(error.value)


def test_an_empty_file_has_no_comments(tmp_path):
    (tmp_path / FILE).write_text("# nothing yet\n")
    assert load_comments(tmp_path) == {}


def test_the_command_writes_the_example_once(tmp_path, capsys):
    assert main(["comments", "--course", str(tmp_path / "new")]) == 0
    out = capsys.readouterr().out
    assert "comments.yml is new" in out and "\n#limits: What else changed together" in out
    path = tmp_path / "new" / FILE
    assert path.read_bytes() == EXAMPLE.read_bytes()
    assert {f"{part}-{level}" for part in ("question", "prediction", "evidence", "limits") for level in range(4)} < {
        *load_comments(path.parent)
    }
    path.write_text("mine: Mine.\n")
    assert main(["comments", "--course", str(path.parent)]) == 0
    assert capsys.readouterr().out == "#mine: Mine.\n"


def test_feedback_shows_the_text_and_commands_report_unknown_keys(ada, capsys):
    (ada / FILE).write_text("seeds: Run *two* seeds.\n")
    comment(ada, "softmax", "Good. #seeds #sedes")
    assert graded(ada)["ada"].reused
    html = page(ada)
    assert "Good. Run <em>two</em> seeds." in html and "#seeds" not in html and "sedes" not in html
    unknown = "01_attention, ada, `softmax`: #sedes is not in comments.yml; did you mean `seeds`?\n"
    assert main(["comments", "--course", str(ada)]) == 1
    assert capsys.readouterr().out.endswith(unknown)
    (ada / FILE).write_text("seeds: Run three.\n")
    assert main(["grade", CHAPTER, "--course", str(ada)]) == 0
    assert f"Comment without a text: {unknown}" in capsys.readouterr().out
    assert "Good. Run three." in page(ada)
    comment(ada, "softmax", "#seeds")
    assert main(["comments", "--course", str(ada)]) == 0
