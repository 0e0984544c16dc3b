"""What the last cell of a notebook prints, and what a given cell prints that cannot run yet."""

import linecache
from types import SimpleNamespace

import pytest

from check import bundle_data, handing_in, remaining, waiting_cells
from check import checking as check_module
from check.blank import is_blank
from check.bundle_data import Notebook, source_digest
from check.checking import check
from check.messages import sentence_as_html, with_links
from check.remaining import what_is_left

pytestmark = pytest.mark.autograder

RIGHT = """
def normalised(x):
    if x.shape[-1] == 0:
        raise ValueError
    print("here")
    return x / x.sum(axis=-1, keepdims=True), None
"""
WRONG = RIGHT.replace("axis=-1, ", "")
STUB = "def normalised(x):\n    raise NotImplementedError"
CELL = "row = normalised(np.ones((2, 3)))[0]\nassert row.sum() == 2"
LATER = "print(row.mean())"


@pytest.fixture
def notebook(monkeypatch, tmp_path, key):
    """Make a notebook of one exercise and two given cells that use it."""
    for module in (check_module, remaining, waiting_cells):
        monkeypatch.setattr(module, "public_key", lambda name: key)
    monkeypatch.setenv(bundle_data.FOLDER, str(tmp_path))
    rests_on = {source_digest(cell): ["normalised"] for cell in (CELL, LATER)}
    (tmp_path / "chapters").mkdir(exist_ok=True)
    (tmp_path / "chapters/01_shares.json").write_text(Notebook(["normalised"], rests_on, {}).to_json())


def names(*cells):
    space = {}
    for cell in cells:
        exec("import numpy as np\n" + cell, space)
    return space


@pytest.mark.parametrize(
    ("cell", "head", "row"),
    [
        (RIGHT, "4 of 4 points: 1 of 1 exercises pass.", "  ✓ `normalised`: 4 of 4 points"),
        (WRONG, "1 of 4 points: 0 of 1 exercises pass.", "  ✗ `normalised`: 1 of 4 points"),
        (STUB, "0 of 4 points: 0 of 1 exercises pass.", "  · `normalised`: not written yet"),
        ("", "0 of 4 points: 0 of 1 exercises pass.", "  · `normalised`: its cell has not been run"),
        ("normalised = 3", "0 of 4 points: 0 of 1 exercises pass.", "  · `normalised`: no longer a function"),
        (
            "def total(x):\n    raise NotImplementedError\n\n\ndef normalised(x):\n    return total(x), x",
            "0 of 4 points: 0 of 1 exercises pass.",
            "  · `normalised`: waits for `total`",
        ),
    ],
)
def test_the_last_cell_shows_the_state_of_every_exercise(notebook, capsys, cell, head, row):
    what_is_left("01_shares", names(RIGHT, "del normalised", cell))
    end = "Save this notebook, then hand in this one file: `01_shares.ipynb`"
    assert capsys.readouterr().out == "\n".join([head, row, end, ""])


@pytest.mark.parametrize("handed_in", [False, True])
def test_the_last_cell_names_weights_and_texts_too(notebook, tmp_path, capsys, monkeypatch, handed_in):
    monkeypatch.setattr(handing_in, "handed_in", handed_in)
    about = Notebook(["normalised"], {}, {}, weights=4, by_hand={"report": 12})
    (tmp_path / "chapters/01_shares.json").write_text(about.to_json())
    what_is_left("01_shares", names(RIGHT))
    weights = "Run `hand_in(params, recipe)`: its output holds your weights, for up to 4 points. "
    if handed_in:
        weights = "The output of `hand_in` holds your weights, for up to 4 points. "
    rest = "Write `report`: your instructor gives up to 12 points for it. The chapter has 20 points. Save this notebook"
    assert weights + rest in capsys.readouterr().out


def test_a_module_waits_for_pytorch(notebook, capsys, monkeypatch):
    monkeypatch.setattr(remaining, "find_spec", lambda name: None)
    what_is_left("01_shares", {"normalised": type("normalised", (), {})})
    assert "  · `normalised`: needs PyTorch, which is not installed here\n" in capsys.readouterr().out


def test_a_message_links_the_section_that_it_names(notebook, monkeypatch, tmp_path, capsys):
    shown = []
    monkeypatch.setattr(check_module, "show", shown.append)
    check(names(STUB)["normalised"])
    assert "Read “Shares” first." in shown[-1].html
    about = Notebook(["normalised"], {}, {"Shares": "https://book.example/a.html#shares", "Rows & sums": "b"})
    (tmp_path / "chapters").mkdir(exist_ok=True)
    (tmp_path / "chapters/01_shares.json").write_text(about.to_json())
    check(names(STUB)["normalised"])
    link = '<a href="https://book.example/a.html#shares" target="_blank">Shares</a>'
    assert f"Read “{link}” first." in shown[-1].html and "Read “Shares” first." in shown[-1].text
    assert with_links(sentence_as_html("Reread “Rows & sums”."), about.sections) == (
        'Reread “<a href="b" target="_blank">Rows &amp; sums</a>”.'
    )


def test_an_unknown_chapter_is_an_error(notebook):
    with pytest.raises(LookupError, match="no chapter '02_shares' here; there are: 01_shares"):
        what_is_left("02_shares", {})


def test_a_class_is_blank_while_one_of_its_methods_is():
    begun = names("class A:\n    def a(self):\n        return 1\n    def b(self):\n        raise NotImplementedError")
    assert is_blank(begun["A"]) and not is_blank(names("class A:\n    def a(self):\n        return 1")["A"])


def after(space, cell):
    """Run a failing cell as a notebook does, and return what it prints."""
    linecache.cache["<a cell>"] = (len(cell), None, cell.splitlines(keepends=True), "<a cell>")
    try:
        exec(compile(cell, "<a cell>", "exec"), space)
    except Exception as error:
        return waiting_cells.what_it_waits_for(error, space)
    raise AssertionError("it did not raise")


def test_a_cell_that_cannot_run_names_the_exercise_that_it_waits_for(notebook):
    blank = "This cell waits for `normalised`, which is not written yet."
    failing = "This cell waits for `normalised`, which does not pass its check yet."
    assert after(names(STUB), CELL) == after(names(STUB), LATER) == blank
    assert after(names(STUB), "mine = normalised(3)") == blank, "a student's own cell too"
    assert after(names(WRONG), CELL) == after(names(WRONG), LATER) == failing
    assert after(names(""), CELL) == failing


def test_other_errors_keep_their_traceback(notebook):
    assert after(names(RIGHT), LATER) == "", "the exercise holds: what is missing is another matter"
    assert after(names(WRONG), "mine = normalised(3)") == after(names(STUB), "mine = unknown") == ""
    assert after(names("def mine():\n    raise NotImplementedError('later')"), "mine()") == ""


def test_tracebacks_change_only_in_a_student_s_notebook(notebook, monkeypatch):
    handlers = []
    monkeypatch.setattr(
        waiting_cells, "shell", lambda: SimpleNamespace(set_custom_exc=lambda *handler: handlers.append(handler))
    )
    waiting_cells.explain_waiting_cells()
    assert handlers == [(waiting_cells.CONSEQUENCES, waiting_cells._show)]
    monkeypatch.setenv(bundle_data.FOLDER, "elsewhere")
    waiting_cells.explain_waiting_cells()
    assert len(handlers) == 1, "in the repository a traceback does not change"
