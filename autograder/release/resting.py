"""Which exercises a given cell rests on: without them it cannot run, or says something else.

Told from the sources alone, by the names that one statement leaves to the next; and generously, since it is asked only
of a cell that did not run.
"""

import ast
import dis
import inspect
from collections.abc import Iterable

from autograder.chapter.chapter import Cell
from autograder.check.notebooks import fingerprint


def rests_on(cells: Iterable[Cell], exercises: list[str]) -> dict[str, list[str]]:
    """Fingerprint of each given cell that rests on exercises -> their names, in the order of `exercises`."""
    names = {name: {name} for name in exercises}  # a name -> what it rests on
    found = {}
    for cell in cells:
        if cell.part != "demo":
            continue
        needed: set[str] = set()
        for statement in ast.parse(cell.source).body:
            code = compile(ast.Module([statement], []), cell.part, "exec")
            needed |= set().union(*(names.get(name, set()) for name in _read(code)))
            # What comes after a statement that raises is not run either.
            names |= {name: set(needed) for name in _named(code, "STORE_NAME")}
            for name in _changed(statement):
                names[name] = names.get(name, set()) | needed
        if needed:
            found[fingerprint(cell.source)] = [name for name in exercises if name in needed]
    return found


def _read(code):
    """The global names that code reads, itself or in the functions that it defines."""
    yield from _named(code, "LOAD_NAME", "LOAD_GLOBAL")
    for inner in filter(inspect.iscode, code.co_consts):
        yield from _read(inner)


def _named(code, *operations):
    return (step.argval for step in dis.get_instructions(code) if step.opname in operations)


def _changed(statement):
    """Names of what a statement changes in place: by a method, as in `losses.append(...)`, or by an index."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            place = node.value.func
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            place = node
        else:
            continue
        while isinstance(place, ast.Subscript | ast.Attribute):
            place = place.value
            if isinstance(place, ast.Name):
                yield place.id
