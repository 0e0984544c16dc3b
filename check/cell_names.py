"""Which names a cell's code reads, and which it changes in place, told from its source.

The release tells from them what a cell rests on, and a page of the book what need not run before one.
"""

import ast
import dis
import inspect
from collections.abc import Iterator
from types import CodeType


def named(code: CodeType, *operations: str) -> Iterator[str]:
    """The names of all steps of these kinds ("LOAD_NAME"), in order."""
    return (step.argval for step in dis.get_instructions(code) if step.opname in operations)


def read_globals(code: CodeType) -> Iterator[str]:
    """The global names that code reads, itself or in the functions that it defines."""
    yield from named(code, "LOAD_NAME", "LOAD_GLOBAL")
    for inner in filter(inspect.iscode, code.co_consts):
        yield from read_globals(inner)


def changed_in_place(statement: ast.AST) -> Iterator[str]:
    """Names of what a statement may change: by a method, as in `losses.append(...)`, or by an index."""
    for node in ast.walk(statement):
        place: ast.AST
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
