"""Imports that are not allowed: found in the tokens of a cell, named in the report, and without points."""

import copy
import json
import tokenize
from types import SimpleNamespace

import pytest

from autograder.cli.main import main
from autograder.grading import cell_notes, grade
from autograder.grading.student_imports import imported_modules
from autograder.sandbox import CHAPTER_DISTRIBUTIONS, Call, Cell, RunResult
from check.calling import Outcome, Raised
from check.source_tokens import tokens
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import numpy as np, torch.nn as nn", ["numpy", "torch"]),
        ("from scipy.special import (softmax,\n    expit)", ["scipy"]),
        ("if True: import jax", ["jax"]),
        ("x = 3; import a.b;import c", ["a", "c"]),
        ("def f():\n    import inner  # import comment\n    return {1: inner}", ["inner"]),
        ("import a\nimport a", ["a"]),
        ("from . import sibling\nfrom .. import aunt", []),
        ("'''import nothing'''\n# import nothing\nx.imports = y.import_", []),
        ("raise E from e\nyield from g", []),
        ("import", []),
        ("from", []),
        ("import a\n'''open", ["a"]),
        ("import a\n  bad\n indent\nimport b", ["a"]),
        ("import " + "a." * 20_000, ["a"]),
    ],
)
def test_imports_are_found_in_the_tokens_of_a_cell(source, names):
    assert list(imported_modules(source)) == names


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize("line", ["\\' " * 501, "\\' " * 300 + "'\n'" + "\\' " * 300], ids=["one line", "two lines"])
def test_lines_of_very_many_escaped_quotes_are_not_split_into_tokens(quote, line):
    """If the string does not end, `tokenize` begins anew at each of its quotes."""
    source = f"import a\n'{line}".replace("'", quote)
    assert imported_modules(source) == ("a",)
    assert tokenize.ERRORTOKEN not in {token.type for token in tokens(source)}


@pytest.fixture
def report(course, hand_in, perfect, capsys):
    """report(exercise=source, ...) -> report, output, feedback and class report for a notebook with these cells."""

    def report(**sources):
        notebook = copy.deepcopy(perfect)
        for cell in notebook["cells"]:
            cell["source"] = sources.get(cell["id"], cell["source"])
        hand_in("ada", json.dumps(notebook).encode())
        assert main(["grade", CHAPTER, "--course", str(course)]) == 0
        out = capsys.readouterr().out
        assert main(["report", CHAPTER, "--course", str(course)]) == 0
        (file,) = (course / "reports" / CHAPTER).glob("*.json")
        page = course / "feedback/ada" / CHAPTER / f"{CHAPTER}.html"
        of_class = course / "report" / CHAPTER / "index.html"
        return json.loads(file.read_text()), out, page.read_text("utf-8"), of_class.read_text("utf-8")

    return report


def test_another_package_earns_nothing_and_is_named_to_student_and_instructor(report):
    source = "import torch\n\ndef softmax(scores):\n    return torch.softmax(torch.from_numpy(scores), -1).numpy()"
    fields, out, page, of_class = report(softmax=source)
    results = {result["function"]: result for result in fields["results"]}
    assert results.pop("softmax")["earned"] == 0
    assert all(result["earned"] == result["points"] for result in results.values())
    note = "These imports are not allowed in this chapter and were ignored: "
    assert f"{note}torch (cell softmax)." in out.partition("Worth a look:")[2]
    assert "raised ImportError: torch is not allowed in this exercise and earns no points" in page
    assert note in page and note in of_class.partition('id="look"')[2]


def test_an_unused_import_is_named_and_costs_nothing(report):
    fields, out, _, _ = report(softmax=f"import scipy\n\n{RIGHT}")
    assert sum(result["earned"] for result in fields["results"]) == 22
    assert "scipy (cell softmax)" in out.partition("Worth a look:")[2]


RIGHT = """\
import itertools, math
import numpy as np
from check import check
import matplotlib.pyplot as plt
from IPython.display import display

def softmax(scores):
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    display(exps)
    return exps / exps.sum(axis=-1, keepdims=True)
"""


def test_allowed_imports_are_not_named(report):
    fields, out, _, of_class = report(softmax=RIGHT)
    assert fields["notes"] == [] and "Worth a look" not in out


# ------------------------------------------------------------------------------ chapters with PyTorch in them

CASE = SimpleNamespace(inputs={}, expected=Outcome(1), name="c", aspect="a", mistakes={}, size=0)

QUESTIONS = dict.fromkeys(["encode", "Module", "decode"], SimpleNamespace(cases=(CASE,)))


class Assignment:
    """Two exercises in NumPy and one in PyTorch."""

    released = SimpleNamespace(chapter="a chapter")
    modules = dict.fromkeys(QUESTIONS, "a module")

    def distributions(self, name):
        return (*CHAPTER_DISTRIBUTIONS, "torch") if name == "Module" else CHAPTER_DISTRIBUTIONS


def test_only_exercises_in_pytorch_can_import_it(monkeypatch):
    runs = []
    monkeypatch.setattr(grade, "judge_exercise", lambda key, outcomes: outcomes)
    monkeypatch.setattr(grade, "calls_of", lambda chapter, keys: [Call(name, {}) for name in keys])

    def sandboxed(cells, calls, distributions):
        runs.append(([cell.id for cell in cells], [call.function for call in calls], distributions))
        torch = "torch" in distributions
        raises = "encode" if torch else "Module"
        troubles = {cell.id: Raised("E", "") if cell.id == raises else None for cell in cells}
        return RunResult(troubles, [Outcome(call.function) for call in calls])

    cells = [Cell(name, "") for name in ("setup", "encode", "Module", "own")]
    results, troubles, notes, _ = grade._first_run(cells, QUESTIONS, Assignment(), sandboxed)
    assert [(functions, "torch" in also) for _, functions, also in runs] == [
        (["encode", "decode"], False),
        (["Module"], True),
    ]
    assert {name: outcomes[0].value for name, outcomes in results.items()} == {n: n for n in QUESTIONS}
    assert list(results) == list(QUESTIONS) and notes == []
    assert troubles == dict.fromkeys(["setup", "encode", "Module", "own"])


def test_a_cell_may_import_what_its_exercise_may():
    cells = [Cell(name, "import torch, scipy") for name in ("setup", "encode", "Module", "1 of your own")]
    (note,) = cell_notes.import_note(cells, Assignment())
    assert (
        note.partition(": ")[2]
        == "torch (cell encode), scipy (cell encode), scipy (cell Module) and scipy (cell 1 of your own)."
    )
