"""Find the names that a cell's code reads, and those that it changes in place.

From them, a release finds the exercises that a given cell needs, and a page the cells that need not run first.
"""

import ast
import dis
import inspect
from collections.abc import Iterator
from types import CodeType


def named(code: CodeType, *operations: str) -> Iterator[str]:
    """Return the names in all instructions of these kinds ("LOAD_NAME"), in order."""
    return (step.argval for step in dis.get_instructions(code) if step.opname in operations)


def read_globals(code: CodeType) -> Iterator[str]:
    """Yield the global names that code reads, itself or in the functions that it defines."""
    yield from named(code, "LOAD_NAME", "LOAD_GLOBAL")
    for inner in filter(inspect.iscode, code.co_consts):
        yield from read_globals(inner)


def changed_in_place(statement: ast.AST) -> Iterator[str]:
    """Yield the names of objects that a statement may change, as in `losses.append(...)` or `rows[0] = ...`."""
    for node in ast.walk(statement):
        target: ast.AST
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            target = node.value.func
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            target = node
        else:
            continue
        while isinstance(target, ast.Subscript | ast.Attribute):
            target = target.value
            if isinstance(target, ast.Name):
                yield target.id
