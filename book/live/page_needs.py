"""Find out what a page's exercises and given cells need from the reader, and what they need that the page lacks.

For a cell, we read this from the names in the sources, as `autograder.release.cell_needs` does for the notebook. A page
has Python's standard library, NumPy, matplotlib, the files of the chapter's bundle, and what the reader wrote. It does
not have the solutions of the book.
"""

import ast
import importlib
import sys
from functools import cache
from types import FunctionType
from typing import Any

from autograder.authoring.exercise import Exercise
from autograder.authoring.inherited import called_exercises, chapter_number
from autograder.chapter.chapter import GIVEN, Cell, Chapter, given_functions, text_of
from autograder.layout import REPO, chapter_names, solution_modules
from autograder.release.at_hand import NO_CHAPTER, functions_called
from autograder.release.cell_needs import imports, needs
from autograder.release.lending import exercises_of_book

NOTEBOOK = "Use the chapter’s notebook for the cells that need it."
CALL = "()"  # marks the name of one of the book's functions, as opposed to a package
FROM_BUNDLE = {file.stem for file in (REPO / "chapters").glob("*.py")}
AVAILABLE = {*sys.stdlib_module_names, "numpy", "matplotlib", "check", "solutions", *FROM_BUNDLE}


def given_cells(chapter: Chapter, functions: set[str]) -> list[dict[str, Any]]:
    """Return for each given cell of a chapter, in order, what the page's script must know about it.

    "rests" holds the names of the exercises that the cell needs, of this chapter and of earlier ones; "lacks" is a
    sentence that says why the cell cannot run in a page; "source" is its source if the page does not show it. Empty
    entries are left out. functions: names of the book's own functions that the page has.
    """
    cells = [cell for cell in chapter.cells if cell.part in ("setup", *GIVEN)]
    sources = [cell.source for cell in cells]
    names = {name: {"torch"} if is_class(stub) else {name} for name, stub in chapter.stubs.items()}

    def needed_for(module: str, name: str) -> set[str]:
        return _needed_for_import(module, name, functions)

    rests = needs(sources, names, needed_for)
    lacks = needs(map(_without_branches, sources), names, needed_for)
    return [_about(*cell_and_needs) for cell_and_needs in zip(cells, rests, lacks, strict=True)]


def _about(cell: Cell, rests: set[str], lacks: set[str]) -> dict[str, Any]:
    if cell.part == "setup":  # the setup cell only imports
        return {}
    about = {
        "rests": sorted(rests & exercises_of_book()),
        "lacks": _why_not(lacks - exercises_of_book()),
        "source": cell.source if "remove-input" in cell.metadata.get("tags", ()) else "",
    }
    return {name: value for name, value in about.items() if value}


def _why_not(names: set[str]) -> str:
    """Return a sentence on the packages or functions that a page does not have; "" if there are none."""
    if "torch" in names:
        return f"PyTorch does not run in the browser. {NOTEBOOK}"
    if packages := sorted(name for name in names if not name.endswith(CALL)):
        return f"The page does not have {packages[0]}. {NOTEBOOK}"
    if names:
        return f"The page does not have `{min(names).removesuffix(CALL)}`, one of the book’s own functions."
    return ""


def _without_branches(source: str) -> str:
    """Return the source with each `if` moved into a function, because a page does not run what follows `if torch:`."""
    tree = ast.parse(source)
    tree.body = [_in_function(statement) if isinstance(statement, ast.If) else statement for statement in tree.body]
    return ast.unparse(tree)


def _in_function(statement: ast.stmt) -> ast.stmt:
    function = ast.parse("def branch(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = [statement]
    return function


def is_class(stub: str) -> bool:
    """Return whether an exercise is a PyTorch module."""
    return any(isinstance(node, ast.ClassDef) for node in ast.parse(stub).body)


def _needed_for_import(module: str, name: str, functions: set[str]) -> set[str]:
    """Return what an import needs that a page does not have, or that the reader has to write."""
    package, _, submodule = module.partition(".")
    if package not in AVAILABLE:
        return {package}
    if package != "solutions" or name in functions:
        return set()
    if missing := _missing_packages(submodule or name):
        return missing
    if not submodule:  # as in `from solutions import numbers`
        return set()
    if solution_modules()[submodule] is None or name in _printed():
        given = getattr(importlib.import_module(f"solutions.{submodule}"), name)
        return {exercise.name for exercise in called_exercises(given)} if isinstance(given, FunctionType) else set()
    return {name if name in exercises_of_book() else name + CALL}


@cache
def _missing_packages(module: str) -> set[str]:
    """Return the packages that a module of the solutions imports and a page does not have."""
    tree = ast.parse((REPO / "solutions" / f"{module}.py").read_text(encoding="utf-8"))
    return {imported.partition(".")[0] for _, (imported, _) in imports(tree)} - AVAILABLE


def module_of(exercise: Exercise) -> str:
    """Return the name of the module of solutions/ with an exercise's reference."""
    return exercise.reference.__module__.rpartition(".")[2]


def used_functions(exercise: Exercise, chapter: Chapter) -> list[str]:
    """Return the names of the functions of earlier chapters that an exercise uses, itself or in a given function."""
    functions = functions_called(exercise, chapter, given=())
    given = [function for function, number in functions.items() if _is_given(function, number)]
    earlier = [function for function, number in functions.items() if number < chapter.number]
    used = [function.__name__ for function in earlier if function not in given]
    called = [called for function in given for called in called_exercises(function)]
    return list(dict.fromkeys(used + [one.name for one in called if chapter_number(one) < chapter.number]))


def _is_given(function: FunctionType, number: int) -> bool:
    """Return whether a function of a chapter is given, not an exercise. number: of its chapter, or NO_CHAPTER."""
    return number == NO_CHAPTER or function.__name__ in _printed()


@cache
def _printed() -> frozenset[str]:
    """Return the name of every given function that a chapter prints."""
    return frozenset(name for chapter in chapter_names() for name in given_functions(text_of(chapter)))
