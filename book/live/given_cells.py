"""Find out what each cell that a chapter gives needs from the reader, and what it needs that a page does not have.

We read this from the names in the cells' sources, as `autograder.release.cell_needs` does for the notebook. A page has
Python's standard library, NumPy, matplotlib, the files of the chapter's bundle, and what the reader wrote. It does not
have the solutions of the book.
"""

import ast
import sys
from functools import cache
from typing import Any

from autograder.authoring.exercise import exercises_of
from autograder.chapter.chapter import GIVEN, Cell, Chapter
from autograder.layout import REPO, chapter_names, solution_modules
from autograder.release.cell_needs import needs

NOTEBOOK = "Use the chapter’s notebook for the cells that need it."
CALL = "()"  # marks the name of one of the book's functions, as opposed to a package
FROM_BUNDLE = {file.stem for file in (REPO / "chapters").glob("*.py")}
AVAILABLE = {*sys.stdlib_module_names, "numpy", "matplotlib", "check", "solutions", *FROM_BUNDLE}


def given_cells(chapter: Chapter, functions: set[str]) -> list[dict[str, Any]]:
    """Return for each given cell of a chapter, in order, what the page's script must know about it.

    Args:
        chapter: the chapter.
        functions: names of the book's own functions that the page has.

    Returns:
        list of dicts: "rests" is the names of the exercises that the cell needs, of this chapter and of earlier ones;
        "lacks" is a sentence that says why the cell cannot run in a page; "source" is its source if the page does not
        show it. Empty entries are left out.
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
    if cell.part == "setup":  # it only imports
        return {}
    about = {
        "rests": sorted(rests & exercise_names()),
        "lacks": _why_not(lacks - exercise_names()),
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


@cache
def exercise_names() -> set[str]:
    """Return the name of every exercise of the book."""
    return {exercise.name for chapter in chapter_names() for exercise in exercises_of(chapter)}


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
    submodule = submodule or name  # from solutions import numbers
    if missing := _missing_packages(submodule):
        return missing
    if submodule == name or solution_modules()[submodule] is None:
        return set()
    return {name if name in exercise_names() else name + CALL}


@cache
def _missing_packages(module: str) -> set[str]:
    """Return the packages that a module of the solutions imports and a page does not have."""
    tree = ast.parse((REPO / "solutions" / f"{module}.py").read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - AVAILABLE
