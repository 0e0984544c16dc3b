"""What a page's script must know of the cells that the chapter gives: what each waits for, and what it lacks there.

Told from the names in their sources, as the notebook's cells are told what they rest on. A page has Python's own
library, NumPy and matplotlib, what the chapter's bundle brings, and what the reader wrote; the book's solutions it has
not.
"""

import ast
import sys
from functools import cache

from autograder.authoring.exercise import exercises_of
from autograder.house import HOUSE, chapter_names, solution_modules
from autograder.release.cell_needs import needs

ELSEWHERE = "the cells that need it are for the chapter’s notebook."
CALL = "()"  # tells a function of the book from a package
BESIDE = {file.stem for file in (HOUSE / "chapters").glob("*.py")}  # what cells import of them comes with the bundle
THERE = {*sys.stdlib_module_names, "numpy", "matplotlib", "check", "solutions", *BESIDE}


def given_cells(chapter, given):
    """For each given cell of a chapter, in order: a dict of what its page's script must know of it.

    Args:
        chapter: the Chapter.
        given: names of the book's own functions that the page has.

    Returns:
        list of dicts, with "rests", names of exercises that the cell needs, of this chapter and of earlier ones;
        "lacks", why it cannot run in a page, in a sentence; "source", where the page does not show it. What would be
        empty is left out.
    """
    cells = [cell for cell in chapter.cells if cell.part in ("setup", "demo")]
    sources = [cell.source for cell in cells]
    names = {name: {"torch"} if is_class(stub) else {name} for name, stub in chapter.stubs.items()}
    rests = needs(sources, names, lambda *what: _brought(*what, given))
    lacks = needs(map(_without_branches, sources), names, lambda *what: _brought(*what, given))
    return [_told(*each) for each in zip(cells, rests, lacks, strict=True)]


def _told(cell, rests, lacks):
    if cell.part == "setup":  # it imports, and uses nothing
        return {}
    told = {
        "rests": sorted(rests & exercises().keys()),
        "lacks": _lack(lacks - exercises().keys()),
        "source": cell.source if "remove-input" in cell.metadata.get("tags", ()) else "",
    }
    return {name: value for name, value in told.items() if value}


def _lack(names):
    """A sentence on packages, or functions of the book, that a page has not; "" if there are none."""
    if "torch" in names:
        return f"PyTorch does not run in a page: {ELSEWHERE}"
    if packages := sorted(name for name in names if not name.endswith(CALL)):
        return f"{packages[0]} is not in the page: {ELSEWHERE}"
    return (
        f"`{min(names).removesuffix(CALL)}` is one of the book’s own functions, and not in the page." if names else ""
    )


def _without_branches(source):
    """A source that binds nothing in its branches: what follows `if torch:` is not run in a page."""
    tree = ast.parse(source)
    tree.body = [_uncalled(each) if isinstance(each, ast.If) else each for each in tree.body]
    return ast.unparse(tree)


def _uncalled(statement):
    function = ast.parse("def branch(): pass").body[0]
    function.body = [statement]
    return function


@cache
def exercises():
    """Name -> chapter of every exercise of the book."""
    return {each.name: name for name in chapter_names() for each in exercises_of(name)}


def is_class(stub):
    """Whether an exercise is a module of PyTorch's."""
    return any(isinstance(node, ast.ClassDef) for node in ast.parse(stub).body)


def _brought(module, name, given):
    """What an import brings that a page lacks, or that the reader has to write."""
    package, _, inner = module.partition(".")
    if package not in THERE:
        return {package}
    if package != "solutions" or name in given:
        return set()
    inner = inner or name  # from solutions import numbers
    if missing := _packages(inner):
        return missing
    if inner == name or solution_modules()[inner] is None:
        return set()
    return {name if name in exercises() else name + CALL}


@cache
def _packages(module):
    """The packages that a module of the solutions needs and a page has not."""
    tree = ast.parse((HOUSE / "solutions" / f"{module}.py").read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - THERE
