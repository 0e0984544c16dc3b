"""The notebook of chapter 10, run cell by cell in any order."""

import ast

import pytest

from autograder.chapter.chapter import read_chapter

pytestmark = [pytest.mark.autograder, pytest.mark.fast]


def bound_at_the_top(source):
    """Return the names that a cell binds outside of its functions."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ListComp)]
    inside = {id(node) for function in functions for node in ast.walk(function)}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in inside]
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def test_no_later_cell_replaces_what_is_handed_in():
    cells = read_chapter("10_project").cells
    parts = [cell.part for cell in cells]
    later = cells[parts.index("hand-in") + 1 :]
    code = [cell.source for cell in later if cell.part in ("demo", "check", "setup")]
    replaced = set().union(*map(bound_at_the_top, code))
    assert len(replaced) > 20
    assert not replaced & {"params", "recipe"}
