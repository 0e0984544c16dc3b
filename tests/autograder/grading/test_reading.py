"""Reading: what counts of a submitted notebook, and the words for what is odd."""

import copy
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.course.handout import load_handout
from autograder.grading import notebook_file, reading
from autograder.grading.magics import without_magics
from autograder.grading.submitted_file import File

pytestmark = pytest.mark.grading


@pytest.fixture(scope="module")
def notebook(released_course):
    return load_handout(released_course, "01_attention")


def read(content, notebook):
    return reading.read_submission(File(json.dumps(content).encode()), notebook)


def test_a_clean_notebook_gives_its_answers_and_no_notes(perfect, notebook):
    submission = read(perfect, notebook)
    assert set(submission.answers) == set(notebook.functions)
    assert "scores" in submission.answers["softmax"]
    assert (submission.own, submission.notes, submission.trouble) == ((), (), "")


def test_own_cells_stay_where_they_stood(perfect, notebook):
    changed = copy.deepcopy(perfect)
    at = [cell["id"] for cell in changed["cells"]].index("softmax")
    own = {"cell_type": "code", "source": ["def helper():\n", "    pass"], "metadata": {"tags": ["x"]}}
    changed["cells"].insert(at, own)
    submission = read(changed, notebook)
    assert submission.own == (reading.OwnCell("code", "def helper():\n    pass", at - 1),)


def test_cells_are_known_by_their_id_where_a_tool_lost_the_metadata(perfect, notebook):
    bare = copy.deepcopy(perfect)
    for cell in bare["cells"]:
        cell["metadata"] = {}
    assert set(read(bare, notebook).answers) == set(notebook.functions)


def test_an_edited_copy_counts_before_an_untouched_one_and_the_last_edited_before_all(perfect, notebook):
    twice = copy.deepcopy(perfect)
    at = [cell["id"] for cell in twice["cells"]].index("softmax")
    first, stub = copy.deepcopy(twice["cells"][at]), copy.deepcopy(twice["cells"][at])
    first["source"], stub["source"] = "def softmax(): return 1", notebook.source(at)
    twice["cells"][at:at] = [first]
    twice["cells"].insert(at + 2, stub)
    submission = read(twice, notebook)
    assert submission.answers["softmax"] == "".join(perfect["cells"][at]["source"])
    assert [cell.source for cell in submission.own] == ["def softmax(): return 1"]
    assert any("3 copies of the exercise cell of softmax" in note for note in submission.notes)


NAMES = ["cells", "cell_type", "source", "metadata", "nbgrader", "grade_id", "tags", "id", "points", "worksheets"]
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES) | st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(json_values)
def test_no_json_makes_reading_fail(notebook, value):
    submission = read({"cells": [value, value]} if not isinstance(value, dict) else value, notebook)
    assert submission.trouble or not submission.answers


@settings(max_examples=200, deadline=None)
@given(st.binary())
def test_no_bytes_make_reading_fail(notebook, raw):
    assert reading.read_submission(File(raw), notebook).trouble


def test_deep_nesting_is_no_notebook(notebook):
    assert "not a notebook" in reading.read_submission(File(b'{"cells": ' + b"[" * 100_000), notebook).trouble


@pytest.mark.parametrize(("source", "cleaned"), [
    ("%matplotlib inline\nx = 1", "# %matplotlib inline\nx = 1"),
    ("x = 1\n!pip list", "x = 1\n# !pip list"),
    ("softmax?", "# softmax?"),
    ("%%bash\nls\nrm x", "# %%bash\n# ls\n# rm x"),
    ("%%time\nx = 1", "# %%time\nx = 1"),
    ("if x:\n    %time f()\ny = 2", "if x:\n    pass  # %time f()\ny = 2"),
    ("t = %timeit -o f()", "# t = %timeit -o f()"),
    ("x = (a\n     %b)", "x = (a\n     %b)"),
    ("x = a \\\n  %b", "x = a \\\n  %b"),
    ('text = """\n%d\n!\n"""', 'text = """\n%d\n!\n"""'),
    ("# why?\nx = 7 %2\ny = x != 3", "# why?\nx = 7 %2\ny = x != 3"),
    ("def f(:\n%who", "def f(:\n%who"),
])  # fmt: skip
def test_notebook_commands_become_comments_and_python_stays(source, cleaned):
    assert without_magics(source)[0] == cleaned


# ------------------------------------------------------------------------------------------- large files


def with_outputs(notebook, n_bytes, text):
    lines = [text] * (n_bytes // len(text.encode()))
    output = {"output_type": "stream", "name": "stdout", "text": lines}
    own = {"cell_type": "code", "source": "print('much')", "metadata": {}, "outputs": [output]}
    return json.dumps({**notebook, "cells": [*notebook["cells"], own]}, ensure_ascii=False).encode()


def peak(function, *arguments):
    """The value, and the largest number of bytes that were in use for it at one time."""
    tracemalloc.start()
    try:
        return function(*arguments), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_one_emoji_does_not_make_a_large_file_four_times_as_large(perfect, notebook):
    line = "a line of output that is printed again and again, and is not cleared\n" * 20
    plain = with_outputs(perfect, notebook_file.LARGE_BYTES, line)
    colourful = plain.replace(b"print('much')", "print('🙂')".encode())
    read_plain, peak_plain = peak(reading.read_submission, File(plain), notebook)
    read_colourful, peak_colourful = peak(reading.read_submission, File(colourful), notebook)
    assert read_colourful.answers == read_plain.answers and read_colourful.own[0].source == "print('🙂')"
    assert peak_colourful < 1.7 * peak_plain


def test_names_are_not_looked_for_in_what_would_not_be_read():
    bomb = b'{"cells":[' + b",".join([b'{"":0}'] * notebook_file.MAX_VALUES) + b"]}"
    found, most = peak(reading.grade_ids, File(bomb))
    assert found == set() and most < len(bomb)


@pytest.mark.parametrize("broken", [b'{"cells": "\xff', b'{"cells": [' + "é".encode() * 10])
def test_a_large_file_that_is_broken_gets_the_words_of_a_small_one(notebook, broken):
    padding = b" " * notebook_file.LARGE_BYTES
    large = reading.read_submission(File(broken + padding), notebook)
    assert large.trouble == reading.read_submission(File(broken), notebook).trouble != ""
