"""Refuse pickles from another machine that contain more than data.

A pickle runs code by naming a function or a class, which Python then looks up. Dask unpickles data from a scheduler in
five places: results, exceptions with their tracebacks, the types of results, warnings, and everything that a message
marks as pickled. Dask's own setting (`deserializers`) covers only the first place. This module refuses the lookup
itself, wherever it happens, because Python raises an audit event before each one
(https://docs.python.org/3/library/audit_events.html).
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from check.words import shown

_HARMLESS = frozenset({("builtins", "bytes")})  # how Dask says that a result is of type bytes
_guards: list[object] = []


class NotUnpickled(TypeError):
    """A refused pickle, which names a function or a class. Dask goes on after a TypeError."""


@contextmanager
def data_only() -> Iterator[None]:
    """Raise NotUnpickled for pickles that name a function or a class, anywhere in this process."""
    _install_hook()
    guard = object()
    _guards.append(guard)
    try:
        yield
    finally:
        _guards.remove(guard)


@cache
def _install_hook() -> None:
    """Install the audit hook once per process, since hooks cannot be removed."""
    sys.addaudithook(_refuse_lookup)


def _refuse_lookup(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "pickle.find_class" and _guards and arguments not in _HARMLESS:
        raise NotUnpickled(f"a pickle from another machine asks for {shown('.'.join(arguments))}")
