"""What a submission needs from the given cells, which grading does not run."""

import ast
import itertools
from unittest import mock

import pytest

from autograder.chapter.chapter import read_chapter
from autograder.grading.given_definitions import needed
from autograder.layout import chapter_names
from autograder.release.bundle import files
from autograder.sandbox import Cell, run
from tests.choosing import thinned
from tests.conftest import CHAPTER
from tests.patience import PATIENT

pytestmark = pytest.mark.grading

GIVEN = (
    "import itertools, math\nROWS = 3\nwidths = [1, 2]",
    "%matplotlib inline\ndef slope(f, h=1e-5):\n    return (f(h) - middle(f)) / h",
    "def middle(f):\n    return f(ROWS)\nprint(slope(math.sin))",
    "def drawn(rng=np.random.default_rng(1)):\n    return rng",
    "if True:\n    count = !ls\n/print count",
)


@pytest.mark.parametrize(
    ("written", "definitions"),
    [
        ("def f(x):\n    return itertools.count(x)", "import itertools, math"),
        ("def f(x):\n    return middle(x)", "ROWS = 3\ndef middle(f):\n    return f(ROWS)"),
        ("math, itertools", "import itertools, math"),
        ("def f(x):\n    return drawn(), widths, slopes, count", ""),
        ("def f(middle):\n    math = middle.slope  # ROWS\n    return math", ""),
        ("def f(x):\n    return [g(ROWS) for g in x]", "ROWS = 3"),
        ("await middle(", ""),
    ],
)
def test_only_what_is_named_comes(written, definitions):
    """A default that needs what a demonstration has computed is left out, and so is a list of the demonstration."""
    assert needed(GIVEN, [written]) == definitions


def test_a_cell_is_parsed_again_if_another_thread_parsed_at_the_same_moment(monkeypatch):
    disturbed = SystemError("AST constructor recursion depth mismatch (before=48, after=45)")
    once = itertools.chain([disturbed], itertools.repeat(mock.DEFAULT))
    monkeypatch.setattr(ast, "parse", mock.Mock(wraps=ast.parse, side_effect=once))
    assert needed(["import math  # in this test alone"], ["math"]) == "import math"


def test_what_a_definition_names_comes_too():
    found = needed(GIVEN, ["def f(x):\n    return slope(x)"])
    assert found.split("\n")[0] == "ROWS = 3" and "def slope(f, h=1e-05):" in found and "def middle(f):" in found


@pytest.mark.parametrize("name", thinned(chapter_names(), [CHAPTER], "the same for every chapter"))
def test_all_definitions_of_a_chapter_run_without_its_demonstrations(name, tmp_path):
    chapter = read_chapter(name)
    for path, content in files(chapter, ()).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    setup = "\n".join(cell.source for cell in chapter.cells if cell.part == "setup")
    given = [cell.source for cell in chapter.cells if cell.part == "demo"]
    definitions = needed(given, given)
    assert definitions
    ran = run([Cell("setup", f"{setup}\n{definitions}")], [], bundle=tmp_path, limits=PATIENT)
    assert ran.cells == {"setup": None}
