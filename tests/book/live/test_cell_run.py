"""A page's Python runs a cell below the cells above it. Here the tests' own Python does it."""

import sys

import pytest

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import public_key
from book.live.in_page import cell_run, exercise_run
from check import bundle_data, key

pytestmark = pytest.mark.book

SETUP = ("cell-0", "import numpy as np\n\nnp.set_printoptions(precision=3)")
STUB = ("softmax", "def softmax(scores):\n    raise NotImplementedError")
RIGHT = """def softmax(scores):
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)"""


def tried(*cells, rests=(), earlier=(), helpers=None):
    """Run the last of some cells and return its answer. A cell given as a string is one of the book's."""
    named = [cell if isinstance(cell, tuple) else (f"cell-{i}", cell) for i, cell in enumerate(cells, start=1)]
    job = {"cells": [SETUP, *named], "rests": list(rests), "earlier": list(earlier), "helpers": helpers or {}}
    return cell_run.run(job)


def test_a_cell_shows_its_output_and_its_value():
    shown = tried("x = 1", "print(x)\nnp.array([x, 1 / 3])")
    assert shown == {
        "out": "1\n",
        "value": "array([1.   , 0.333])",
        "html": "",
        "error": "",
        "line": None,
        "waits": "",
        "broken": [],
        "skipped": [],
    }
    assert tried("x = 1", "x;")["value"] == tried("x = 1", "")["value"] == ""


def test_commands_of_a_notebook_are_skipped_and_named():
    shown = tried("%matplotlib inline\nx = 1", "!pip install einops\nif x:\n    %time\nx + 1")
    assert (shown["value"], shown["error"], shown["broken"]) == ("2", "", [])
    assert shown["skipped"] == ["!pip install einops", "%time"]
    assert tried("", "files = !ls\nabs?\n3")["skipped"] == ["files = !ls", "abs?"], "as in grading"
    remainder = tried("y = 4", "(7\n%y)")
    assert (remainder["value"], remainder["skipped"]) == ("3", []), "a % in valid code is an operator"


def test_cells_above_run_once_and_their_names_are_restored():
    first = ("calls = []\nrng = np.random.default_rng(0)", "def one():\n    calls.append(1)\n    return len(calls)")
    for _ in range(3):
        assert tried(*first, "one(), rng.integers(100)")["value"] == "(1, np.int64(85))"
    assert tried(*first, "one()", "one()")["value"] == "2"
    assert tried("calls = [5]", first[1], "one()")["value"] == "2", "a cell above was changed"
    # A value that cannot be copied is made again.
    for _ in range(2):
        assert tried("numbers = (i for i in range(9))", "next(numbers)")["value"] == "0"


def test_a_failing_cell_names_the_line_and_failing_cells_above_do_not_stop_it():
    answer = tried("y = 1\nz = 1 / 0", "print('so far')\ny + nothing")
    assert answer["out"] == "so far\n"
    assert answer["error"] == "line 2: y + nothing\nNameError: name 'nothing' is not defined"
    assert answer["broken"] == ["cell-1"] and answer["line"] == 2
    assert "SyntaxError" in tried("x = (1", "x = (1")["error"]
    assert tried("x = 1", "\nx = (1")["line"] == 2
    assert tried("return", "1")["broken"] == ["cell-1"]
    assert tried("raise SystemExit(3)")["error"].endswith("SystemExit: 3")


@pytest.fixture
def key_of_softmax(tmp_path, monkeypatch):
    """Write the public key of softmax into the folder where `check` looks for keys."""
    monkeypatch.setenv(bundle_data.FOLDER, str(tmp_path))
    (tmp_path / "keys").mkdir()
    key.save(public_key(find_exercise("softmax")), tmp_path / "keys" / "softmax.npz")


def test_a_failing_exercise_names_the_line_of_its_own_cell(key_of_softmax):
    def line(source, *above):
        job = {"name": "softmax", "cells": [*above, ("softmax", source)], "setup": "import numpy as np"}
        return exercise_run.run(job | {"helpers": {}, "earlier": []})["line"]

    assert line("x = 1\ny = 1 / 0") == line("\ndef softmax(scores") == 2
    assert line("def softmax(scores):\n    x = 1\n    return scores + unknown") == 3, "raised when a case calls it"
    helper = ("helper", "def helper(scores):\n    return scores + unknown")
    assert line("def softmax(scores):\n    return helper(scores)", helper) is None, "raised in another cell"
    assert line(RIGHT) is line("def softmax(scores):\n    return scores") is line(STUB[1]) is None


def test_a_cell_names_the_exercise_that_it_waits_for(key_of_softmax):
    calls = "softmax(np.ones(2))"
    assert tried(STUB, calls, rests=["softmax"])["waits"] == "This cell waits for `softmax`, which is not written yet."
    made = tried(STUB, f"a = {calls}", "a.sum()", rests=["softmax"])
    assert made["waits"] == "This cell waits for `softmax`, which is not written yet."
    assert tried(("softmax", RIGHT), calls, rests=["softmax"])["value"] == "array([0.5, 0.5])"
    wrong = tried(("softmax", "def softmax(scores):\n    return 1"), f"{calls}.sum()", rests=["softmax"])
    assert wrong["waits"] == "This cell waits for `softmax`, which does not pass its check yet."
    own = tried(("softmax", RIGHT), f"{calls} / nothing", rests=["softmax"])
    assert own["waits"] == "" and "NameError" in own["error"], "a mistake of the reader's own"
    assert "NotImplementedError" in tried("raise NotImplementedError")["error"]


def test_cells_use_the_reader_s_functions_of_earlier_chapters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # so that Python does not find the solutions of the book
    chapter = {"number": 1, "setup": SETUP[1], "names": ["softmax"], "cells": []}
    cells = ("from solutions.attention import softmax", "softmax(np.ones(2))")
    missing = tried(*cells, earlier=[chapter])["waits"]
    assert missing.startswith("`softmax` is an exercise of chapter 1, and is not solved there yet")
    solved = tried(*cells, earlier=[chapter | {"cells": [("softmax", RIGHT)]}])
    assert solved["value"] == "array([0.5, 0.5])"


def test_a_figure_has_our_style_and_its_alternative_text():
    draw = "import figures\n\nfig, ax = figures.subplots()"
    answer = tried(draw, "figures.show(fig, alt='an empty frame')")
    assert 'aria-label="an empty frame"' in answer["html"] and "currentColor" in answer["html"]
    assert answer["value"] == ""
    own = tried(draw, "fig")["html"]
    assert cell_run.READER_S_FIGURE in own and "<svg" in own
    pyplot = tried("import matplotlib.pyplot as plt", "plt.plot([1, 2])\nplt.title('mine')\nNone")
    assert "mine" in pyplot["html"] and not sys.modules["matplotlib.pyplot"].get_fignums()


def test_matplotlib_is_loaded_only_for_a_cell_that_draws():
    job = {"cells": [SETUP, ("cell-1", "import figures\nfigures.subplots()"), ("cell-2", "print(1)")]}
    loaded = {name: sys.modules.pop(name) for name in [*sys.modules] if name.partition(".")[0] == "matplotlib"}
    try:
        assert not cell_run.draws(job)
        assert cell_run.draws({"cells": job["cells"][:2]})
    finally:
        sys.modules |= loaded


def test_a_module_that_a_page_does_not_have_gets_a_sentence():
    answer = tried("import torch_of_another_world")
    assert answer["error"].endswith("torch_of_another_world is not installed here. Write your functions with NumPy.")


def test_an_unknown_name_gets_a_suggestion_in_a_page():
    answer = tried("def softmax(scores):\n    return scores", "sofmax(1)")
    assert answer["error"] == "line 1: sofmax(1)\nNameError: name 'sofmax' is not defined; did you mean `softmax`?"
    assert tried("np.ones(3).tranpose()")["error"].lower().count("did you mean") == 1
