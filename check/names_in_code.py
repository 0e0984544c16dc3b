"""Find the names that a cell's code reads, and those that it changes in place.

A release uses them to find the exercises that a given cell needs, a page to find the cells that need not run first.
"""

import ast
import dis
import inspect
from collections.abc import Iterator
from types import CodeType


def reads_and_binds(code: CodeType) -> tuple[set[str], set[str]]:
    """Return the global names that code reads before it binds them, and the names that it binds.

    Reading counts in the order of the source: the target of a loop is bound when the loop's body reads it.
    """
    reads: set[str] = set()
    binds: set[str] = set()
    for step in dis.get_instructions(code):
        if step.opname == "STORE_NAME":
            binds.add(step.argval)
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in binds:
            reads.add(step.argval)
        elif inspect.iscode(step.argval):  # a function, which has no global names of its own
            reads |= reads_and_binds(step.argval)[0] - binds
    return reads, binds


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
