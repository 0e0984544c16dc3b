"""Every chapter, as it stands: its exercises are whole, and each stub asks what its reference answers."""

import difflib
import inspect

import pytest

from autograder.chapter.chapter import definition_in, interface, read_chapter, stubs, text_of
from autograder.house import chapter_names

pytestmark = pytest.mark.autograder

NAMES = chapter_names()


def difference(stub, reference):
    """The lines in which two interfaces differ, as a unified diff; empty if they agree."""
    sides = (interface(source).split("\n") for source in (stub, reference))
    return "\n".join(difflib.unified_diff(*sides, "the stub", "the reference", lineterm=""))


@pytest.mark.parametrize("name", NAMES)
def test_stubs_and_references_have_one_interface(name):
    chapter = read_chapter(name)
    for exercise in chapter.exercises:
        reference = inspect.getsource(exercise.reference)
        found = difference(chapter.stubs[exercise.name], reference)
        assert not found, f"{exercise.name} in {chapter.file}:\n{found}"


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_is_a_stub_then_its_reference_then_its_check(name):
    chapter = read_chapter(name)
    code = [cell for cell in chapter.cells if cell.part != "prose"]
    assert [cell.part for cell in code].count("setup") == 1 and code[0].part == "setup"
    starts = [i for i, cell in enumerate(code) if cell.part == "exercise"]
    parts = [cell.part for cell in code]
    assert parts.count("reference") == parts.count("check") == len(starts)
    for i in starts:
        defined = definition_in(code[i].source).name
        assert parts[i : i + 3] == ["exercise", "reference", "check"], f"{chapter.file}, line {code[i].line}"
        assert code[i + 1].source.endswith(f" import {defined}")
        assert "remove-cell" in code[i + 1].metadata["tags"]
        assert code[i + 2].source == f"check({defined})"


@pytest.mark.parametrize("name", NAMES)
def test_the_chapter_holds_the_exercises_of_its_file_and_no_others(name):
    chapter = read_chapter(name)
    assert sorted(chapter.stubs) == sorted(exercise.name for exercise in chapter.exercises)


def test_names_are_unique_over_all_chapters():
    names = [stub for name in NAMES for stub in stubs(text_of(name))]
    assert len(names) == len(set(names))


def test_a_difference_is_printed_as_a_diff():
    stub = 'def f(x, y):\n    """Add.\n\n    Args:\n        x: (n,)\n    """\n    raise NotImplementedError'
    assert not difference(stub, stub.replace("raise NotImplementedError", "# Sum.\n    return x + y"))
    found = difference(stub, stub.replace("(n,)", "(m,)").replace("x, y", "x, y=1"))
    assert "-def f(x, y):\n+def f(x, y=1):" in found
    assert '-    x: (n,)"""\n+    x: (m,)"""' in found


def test_a_class_shows_its_public_methods():
    stub = 'class A(B):\n    """A."""\n\n    def __init__(self, n):\n        raise NotImplementedError\n'
    solved = stub.replace("raise NotImplementedError", "self.n = n\n\n    def _help(self):\n        pass\n")
    assert not difference(stub, solved)
    assert "+    def forward(self):" in difference(stub, solved + "\n    def forward(self):\n        return 1\n")
