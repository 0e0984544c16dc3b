"""While another machine is spoken to, nothing that arrives is unpickled into more than data.

A pickle runs code by naming a function or a class, which Python then looks up. Dask unpickles in five places what a
scheduler sends: results, exceptions and their tracebacks, the types of results, warnings, and whatever a message marks
as pickled. Its own setting (`deserializers`) governs the first alone, so the looking up is refused here, wherever
it happens: Python tells of it before it does it (https://docs.python.org/3/library/audit_events.html).
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from check.words import shown

_HARMLESS = frozenset({("builtins", "bytes")})  # with it Dask says that a result is of bytes
_guards: list[object] = []


class NotUnpickled(TypeError):
    """A pickle names a function or a class, and nothing of it was run. Dask goes on after a TypeError."""


@contextmanager
def data_alone() -> Iterator[None]:
    """In this process, pickles that name a function or a class raise NotUnpickled."""
    _listen()
    guard = object()
    _guards.append(guard)
    try:
        yield
    finally:
        _guards.remove(guard)


@cache
def _listen():
    """Once in a process, since nothing takes a hook off again."""
    sys.addaudithook(_heard)


def _heard(event, arguments):
    if event == "pickle.find_class" and _guards and arguments not in _HARMLESS:
        raise NotUnpickled(f"a pickle from another machine asks for {shown('.'.join(arguments))}")
