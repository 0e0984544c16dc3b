"""The note on a cell that Python cannot read says what is in it."""

import pytest

from autograder.course.handout import load_handout
from autograder.grading.cell_notes import left_behind
from autograder.grading.cells_to_run import cells_to_run
from autograder.grading.reading import OwnCell, Submission

pytestmark = pytest.mark.grading


@pytest.mark.parametrize("source, says", [
    ("x = 1\n<<<<<<< HEAD\ny = 2", "Its line 2 has a conflict marker of Git."),
    ("def f(x):\n\u00a0   return x", "Its line 2 has a non-breaking space."),
    ("print(\u201cyes\u201d)", 'Its line 1 has a curly quotation mark. Type a straight one, `"`.'),
    (">>> softmax(x)", "Its line 1 has a prompt"),
    ("```python\nx = 1", "Its line 1 has a fence of a Markdown block."),
    ("x = 1 \u2212 2", "Its line 1 has a dash"),
    ("x = \u200b1", "Its line 1 has a character without width."),
])  # fmt: skip
def test_what_pasting_leaves_behind_is_named(source, says):
    with pytest.raises(SyntaxError):
        compile(source, "<cell>", "exec")
    assert left_behind(source).startswith(says)


def test_nothing_is_said_of_another_error():
    assert left_behind("def f(x:\n    return x") == ""


def test_a_file_that_a_cell_writes_is_said_not_to_count(released_course):
    released = load_handout(released_course, "01_attention")
    written = Submission(own=(OwnCell("code", "%%writefile softmax.py\ndef softmax(x): return x", 3),))
    _, notes = cells_to_run(written, released)
    assert "Grading reads no files, so what a cell writes with `%%writefile` does not count." in notes
