"""In every chapter, the answers that the example class hands in earn all points with what a submission can import."""

import sys

import numpy as np
import pytest

from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import make_questions
from autograder.chapter.chapter import read_chapter
from autograder.chapter.targets import read_targets
from autograder.example.standalone import standalone
from autograder.layout import REPO, chapter_names, solution_modules
from autograder.release.bundle import modules
from autograder.release.notebook import source_notebook
from check import scoring
from check.measuring import outcomes_of
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

NAMES = chapter_names()
SEED = 5


def sources(name):
    """Return id -> source of a chapter's setup, with the functions that it gives, and of its solved exercises."""
    chapter = read_chapter(name)
    notebook = source_notebook(chapter, read_targets(REPO / "chapters"), {})
    code = [cell for cell in notebook.cells if cell.cell_type == "code" and "nbgrader" in cell.metadata]
    cells = [(cell.metadata.nbgrader, cell.source) for cell in code]
    return {"setup": chapter.setup} | {tags.grade_id: source for tags, source in cells if tags.solution}


def namespace_of(name, cells, monkeypatch):
    """Execute cells where only the modules of the chapter's bundle can be imported."""
    bundled = modules(read_chapter(name))
    for module in solution_modules():
        if f"solutions/{module}.py" not in bundled:
            monkeypatch.setitem(sys.modules, f"solutions.{module}", None)
    namespace = {"__name__": "__main__"}
    for source in cells:
        exec(compile(source, "<cell>", "exec"), namespace)
    return namespace


def failed(name, namespace):
    """Return the exercises of a chapter that a notebook's functions do not solve."""
    keys = {exercise.name: make_questions(exercise, SEED) for exercise in exercises_of(name)}
    with np.errstate(all="ignore"):
        results = {n: scoring.grade(key, outcomes_of(namespace[n], key)) for n, key in keys.items()}
    return {n: result.verdict for n, result in results.items() if not result.passed}


@pytest.mark.parametrize("chapter", thinned(NAMES, NAMES[:1], "`make` grades the answers of every chapter"))
def test_the_references_earn_all_points(chapter, monkeypatch):
    namespace = namespace_of(chapter, sources(chapter).values(), monkeypatch)
    monkeypatch.undo()
    assert not failed(chapter, namespace)


@pytest.mark.parametrize("chapter", thinned(NAMES, NAMES[:2], "other chapters"))
def test_the_rewrites_earn_all_points(chapter, monkeypatch):
    rewrites = {
        exercise.name: standalone(next(iter(exercise.equivalents.values())), exercise.name)
        for exercise in exercises_of(chapter)
        if exercise.equivalents
    }
    namespace = namespace_of(chapter, (sources(chapter) | rewrites).values(), monkeypatch)
    monkeypatch.undo()
    assert not failed(chapter, namespace)
