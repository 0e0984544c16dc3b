"""Every chapter of the book has complete exercises, and each stub has the interface of its reference."""

import ast
import difflib
import inspect

import pytest

from autograder.chapter.chapter import definition_in, interface, read_chapter, stubs, text_of
from autograder.house import chapter_names
from autograder.release.notebook import bound_names

pytestmark = pytest.mark.autograder

NAMES = chapter_names()


def difference(stub: str, reference: str) -> str:
    """Return a unified diff of two interfaces; "" if they are equal."""
    stub_lines, reference_lines = (interface(source).split("\n") for source in (stub, reference))
    return "\n".join(difflib.unified_diff(stub_lines, reference_lines, "the stub", "the reference", lineterm=""))


@pytest.mark.parametrize("name", NAMES)
def test_a_stub_has_the_interface_of_its_reference(name: str) -> None:
    chapter = read_chapter(name)
    for exercise in chapter.exercises:
        reference = inspect.getsource(exercise.reference)
        diff = difference(chapter.stubs[exercise.name], reference)
        assert not diff, f"{exercise.name} in {chapter.file}:\n{diff}"


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_is_a_stub_then_its_reference_then_its_check(name: str) -> None:
    chapter = read_chapter(name)
    code = [cell for cell in chapter.cells if cell.part != "prose"]
    assert [cell.part for cell in code].count("setup") == 1 and code[0].part == "setup"
    starts = [i for i, cell in enumerate(code) if cell.part == "exercise"]
    parts = [cell.part for cell in code]
    assert parts.count("reference") == parts.count("check") == len(starts)
    for i in starts:
        function = definition_in(code[i].source).name
        assert parts[i : i + 3] == ["exercise", "reference", "check"], f"{chapter.file}, line {code[i].line}"
        assert code[i + 1].source.endswith(f" import {function}")
        assert "remove-cell" in code[i + 1].metadata["tags"]
        assert code[i + 2].source == f"check({function})"


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_has_a_stub_for_each_of_its_exercises(name: str) -> None:
    chapter = read_chapter(name)
    assert sorted(chapter.stubs) == sorted(exercise.name for exercise in chapter.exercises)


def test_no_two_exercises_of_the_book_have_the_same_name() -> None:
    names = [stub for name in NAMES for stub in stubs(text_of(name))]
    assert len(names) == len(set(names))


def test_a_difference_is_shown_as_a_diff() -> None:
    stub = 'def f(x, y):\n    """Add.\n\n    Args:\n        x: (n,)\n    """\n    raise NotImplementedError'
    assert not difference(stub, stub.replace("raise NotImplementedError", "# Sum.\n    return x + y"))
    diff = difference(stub, stub.replace("(n,)", "(m,)").replace("x, y", "x, y=1"))
    assert "-def f(x, y):\n+def f(x, y=1):" in diff
    assert '-    x: (n,)"""\n+    x: (m,)"""' in diff


def test_the_interface_of_a_class_includes_its_public_methods() -> None:
    stub = 'class A(B):\n    """A."""\n\n    def __init__(self, n):\n        raise NotImplementedError\n'
    solved = stub.replace("raise NotImplementedError", "self.n = n\n\n    def _help(self):\n        pass\n")
    assert not difference(stub, solved)
    assert "+    def forward(self):" in difference(stub, solved + "\n    def forward(self):\n        return 1\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_s_setup_has_what_its_references_take_from_given_cells(name: str) -> None:
    """Grading runs the setup and a student's own cells. What another cell imports or defines is known at home alone."""
    chapter = read_chapter(name)
    lines = [line for cell in chapter.cells if cell.part == "demo" for line in ast.parse(cell.source).body]
    given = {line.name for line in lines if isinstance(line, ast.FunctionDef)}
    for line in lines:
        if isinstance(line, ast.ImportFrom) and str(line.module).startswith("solutions."):
            given |= {alias.name for alias in line.names}
    known = set(chapter.stubs).union(*(bound_names(cell.source) for cell in chapter.cells if cell.part == "setup"))
    for exercise in chapter.exercises:
        tree = ast.parse(inspect.getsource(exercise.reference))
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        assert ({node.id for node in names} - own) & given <= known, exercise.name
