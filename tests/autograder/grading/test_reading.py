"""Reading: which parts of a submitted notebook count, and the notes on what is unusual."""

import copy
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.course.handout import load_handout
from autograder.grading import notebook_file, reading
from autograder.grading.submitted_file import File
from check.magics import without_magics

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


def test_own_cells_keep_their_places(perfect, notebook):
    changed = copy.deepcopy(perfect)
    at = [cell["id"] for cell in changed["cells"]].index("softmax")
    own = {"cell_type": "code", "source": ["def helper():\n", "    pass"], "metadata": {"tags": ["x"]}}
    changed["cells"].insert(at, own)
    submission = read(changed, notebook)
    assert submission.own == (reading.OwnCell("code", "def helper():\n    pass", at - 1),)


def test_cells_without_metadata_are_identified_by_their_ids(perfect, notebook):
    bare = copy.deepcopy(perfect)
    for cell in bare["cells"]:
        cell["metadata"] = {}
    assert set(read(bare, notebook).answers) == set(notebook.functions)


def test_of_several_copies_the_last_edited_one_counts(perfect, notebook):
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


@settings(max_examples=200)
@given(json_values)
def test_reading_never_fails_on_any_json(notebook, value):
    submission = read({"cells": [value, value]} if not isinstance(value, dict) else value, notebook)
    assert submission.trouble or not submission.answers


@settings(max_examples=200)
@given(st.binary())
def test_reading_never_fails_on_any_bytes(notebook, raw):
    assert reading.read_submission(File(raw), notebook).trouble


def test_deeply_nested_json_is_not_a_notebook(notebook):
    assert "not a notebook" in reading.read_submission(File(b'{"cells": ' + b"[" * 100_000), notebook).trouble


@pytest.mark.parametrize(("source", "cleaned"), [
    ("%matplotlib inline\nx = 1", "# %matplotlib inline\nx = 1"),
    ("x = 1\n!pip list", "x = 1\n# !pip list"),
    ("softmax?", "# softmax?"),
    ("%%bash\nls\nrm x", "# %%bash\n# ls\n# rm x"),
    ("%%time\nx = 1", "# %%time\nx = 1"),
    ("if x:\n    %time f()\ny = 2", "if x:\n    pass  # %time f()\ny = 2"),
    ("t = %timeit -o f()", "# t = %timeit -o f()"),
    ("!pip install a \\\n    b \\\n\nx = 1", "# !pip install a \\\n#     b \\\n# \nx = 1"),
    ("if x:\n    !pip install \\\n    !a\ny = 2", "if x:\n    pass  # !pip install \\\n#     !a\ny = 2"),
    ("files = !ls \\\n  -a", "# files = !ls \\\n#   -a"),
    ("x = 1\n!ls \\", "x = 1\n# !ls \\"),
    ("x = (a\n     %b)", "x = (a\n     %b)"),
    ("x = a \\\n  %b", "x = a \\\n  %b"),
    ('text = """\n%d\n!\n"""', 'text = """\n%d\n!\n"""'),
    ("# why?\nx = 7 %2\ny = x != 3", "# why?\nx = 7 %2\ny = x != 3"),
    ("def f(:\n%who", "def f(:\n%who"),
])  # fmt: skip
def test_notebook_commands_become_comments_and_python_stays(source, cleaned):
    assert without_magics(source)[0] == cleaned


def test_a_command_is_named_with_the_lines_that_continue_it():
    assert without_magics("!pip install a \\\n    b\n%time f()")[1] == ("!pip install a b", "%time f()")


# ------------------------------------------------------------------------------------------- large files


def with_outputs(notebook, n_bytes, text):
    lines = [text] * (n_bytes // len(text.encode()))
    output = {"output_type": "stream", "name": "stdout", "text": lines}
    own = {"cell_type": "code", "source": "print('much')", "metadata": {}, "outputs": [output]}
    return json.dumps({**notebook, "cells": [*notebook["cells"], own]}, ensure_ascii=False).encode()


def peak(function, *arguments):
    """Return the function's value, and the peak of the memory that it used, in bytes."""
    tracemalloc.start()
    try:
        return function(*arguments), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_one_emoji_does_not_multiply_the_memory_for_a_large_file(perfect, notebook):
    line = "a line of output that is printed again and again, and is not cleared\n" * 20
    plain = with_outputs(perfect, notebook_file.LARGE_BYTES, line)
    colourful = plain.replace(b"print('much')", "print('🙂')".encode())
    read_plain, peak_plain = peak(reading.read_submission, File(plain), notebook)
    read_colourful, peak_colourful = peak(reading.read_submission, File(colourful), notebook)
    assert read_colourful.answers == read_plain.answers and read_colourful.own[0].source == "print('🙂')"
    assert peak_colourful < 1.7 * peak_plain


def test_many_letters_beyond_ascii_do_not_multiply_it_either(perfect, notebook, monkeypatch):
    monkeypatch.setattr(notebook_file, "LARGE_BYTES", 1_000_000)
    monkeypatch.setattr(notebook_file, "BLOCK_BYTES", 99_999)  # the blocks do not end where the letters do
    raw = with_outputs(perfect, 2_000_000, "é " * 700).replace(b"\\u00e9", "é".encode())
    read_submission, most = peak(reading.read_submission, File(raw), notebook)
    assert read_submission.answers and most < 20 * len(raw)


def test_grade_ids_are_not_read_from_a_file_with_too_many_values():
    bomb = b'{"cells":[' + b",".join([b'{"":0}'] * notebook_file.MAX_VALUES) + b"]}"
    ids, most = peak(reading.grade_ids, File(bomb))
    assert ids == set() and most < len(bomb)


@pytest.mark.parametrize("broken", [b'{"cells": "\xff', b'{"cells": [' + "é".encode() * 10])
def test_a_large_broken_file_gets_the_message_of_a_small_one(notebook, broken):
    padding = b" " * notebook_file.LARGE_BYTES
    large = reading.read_submission(File(broken + padding), notebook)
    assert large.trouble == reading.read_submission(File(broken), notebook).trouble != ""
