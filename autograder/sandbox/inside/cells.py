"""Run a cell of a notebook, as IPython would."""

import ast
import linecache
import time
import types
from functools import lru_cache
from typing import Any


def run_cell(cell: str, source: str, namespace: dict[str, Any]) -> None:
    """Run a cell, which may await, in the notebook's namespace. Raises what the cell raises."""
    name = f"<cell {cell}>"
    # Without a modification time, linecache keeps the lines and does not look for a file.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    _run(compile(source, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True), namespace)


def _run(code: types.CodeType, namespace: dict[str, Any]) -> None:
    awaiting = eval(code, namespace)
    if awaiting:
        _event_loop().run_until_complete(awaiting)


@lru_cache(maxsize=1)  # a cell may await a task that another one has started
def _event_loop() -> Any:
    """Return an event loop without the sockets that Python's own ones need, which the sandbox forbids."""
    import asyncio  # it takes as long to import as running a submission, and hardly any cell awaits

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
