"""Run a cell of a notebook, as IPython would."""

import ast
import builtins
import contextlib
import linecache
import time
import traceback
import types
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def run_cell(cell: str, source: str, namespace: dict[str, Any]) -> None:
    """Run a cell, which may await, in the notebook's namespace. Raises what the cell raises.

    After an exception, its remaining functions, classes and imports still run. The cell may have raised no exception on
    the student's machine: a package may be missing only here.
    """
    name = f"<cell {cell}>"
    # Without a modification time, linecache keeps the lines and does not look for a file.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    code = compile(source, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    try:
        _run(code, namespace)
    except Exception as error:
        line = next((line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code is code), None)
        if line is not None:
            _define_missing(_definitions(source, line), name, namespace)
        raise


def _definitions(source: str, line: int) -> list[ast.stmt]:
    """Return the functions, classes and imports at the top level of a cell that begin after a line."""
    statements = [node for node in ast.parse(source).body if isinstance(node, _DEFINING)]
    return [node for node in statements if _first_line(node) > line]


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])


def _define_missing(statements: Iterable[ast.stmt], name: str, namespace: dict[str, Any]) -> None:
    """Run each statement alone. Known names keep their values, on which other cells may depend."""
    before = dict(namespace)
    for statement in statements:
        with contextlib.suppress(Exception):
            exec(compile(ast.Module([statement], []), name, "exec", dont_inherit=True), namespace)
    for builtin in namespace.keys() & vars(builtins).keys():
        del namespace[builtin]
    namespace.update(before)


def _run(code: types.CodeType, namespace: dict[str, Any]) -> None:
    awaiting = eval(code, namespace)
    if awaiting:
        _event_loop().run_until_complete(awaiting)


@lru_cache(maxsize=1)  # a cell may await a task that another one has started
def _event_loop() -> Any:
    """Return an event loop without sockets. Python's own event loops need them, and the sandbox forbids them."""
    import asyncio  # its import takes as long as running a submission, and hardly any cell awaits

    class Loop(asyncio.BaseEventLoop):
        """Runs coroutines and timers, and waits for no files."""

        def __init__(self) -> None:
            super().__init__()
            self._selector = self

        def select(self, seconds: float | None) -> list[Any]:
            time.sleep(0.01 if seconds is None else min(seconds, 0.01))  # a thread cannot wake the loop
            return []

        def _process_events(self, events: list[Any]) -> None:
            pass

        def _write_to_self(self) -> None:
            pass

    return Loop()
