"""The stubs of all chapters: their names, and what their references take from given cells.

`tests/autograder/release/test_doctor.py` compares them with their references.
"""

import ast
import importlib
import inspect

import pytest

from autograder.chapter.chapter import read_chapter, stubs, text_of
from autograder.layout import chapter_names
from autograder.release.doctor import interface_difference
from check.names_in_code import reads_and_binds

pytestmark = pytest.mark.autograder

NAMES = chapter_names()


def test_no_two_exercises_of_the_book_have_the_same_name() -> None:
    names = [stub for name in NAMES for stub in stubs(text_of(name))]
    assert len(names) == len(set(names))


def test_a_difference_is_shown_as_a_diff() -> None:
    stub = 'def f(x, y):\n    """Add.\n\n    Args:\n        x: (n,)\n    """\n    raise NotImplementedError'
    assert not interface_difference(stub, stub.replace("raise NotImplementedError", "# Sum.\n    return x + y"))
    diff = interface_difference(stub, stub.replace("(n,)", "(m,)").replace("x, y", "x, y=1"))
    assert "-def f(x, y):\n+def f(x, y=1):" in diff
    assert '-    x: (n,)"""\n+    x: (m,)"""' in diff


def test_the_interface_of_a_class_includes_its_public_methods() -> None:
    stub = 'class A(B):\n    """A."""\n\n    def __init__(self, n):\n        raise NotImplementedError\n'
    solved = stub.replace("raise NotImplementedError", "self.n = n\n\n    def _help(self):\n        pass\n")
    assert not interface_difference(stub, solved)
    assert "+    def forward(self):" in interface_difference(
        stub, solved + "\n    def forward(self):\n        return 1\n"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_given_function_is_the_one_of_the_solutions(name: str) -> None:
    module = importlib.import_module(f"solutions.{read_chapter(name).word}")
    for given, source in read_chapter(name).given_functions.items():
        assert ast.dump(ast.parse(source)) == ast.dump(ast.parse(inspect.getsource(getattr(module, given)))), given


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_s_setup_has_what_its_references_take_from_given_cells(name: str) -> None:
    """Grading runs the setup and a student's own cells. What another cell imports or defines is known only at home."""
    chapter = read_chapter(name)
    lines = [line for cell in chapter.cells if cell.part == "demo" for line in ast.parse(cell.source).body]
    given = {line.name for line in lines if isinstance(line, ast.FunctionDef)}
    for line in lines:
        if isinstance(line, ast.ImportFrom) and str(line.module).startswith("solutions."):
            given |= {alias.name for alias in line.names}
    known = chapter.stubs.keys() | reads_and_binds(compile(chapter.setup, "setup", "exec"))[1]
    for exercise in chapter.exercises:
        tree = ast.parse(inspect.getsource(exercise.reference))
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        assert ({node.id for node in names} - own) & given <= known, exercise.name
