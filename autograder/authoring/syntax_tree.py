"""Parse Python in threads.

In Python 3.11 the parser keeps its depth in a global variable. When threads parse together, it may raise a SystemError
about correct code: https://github.com/python/cpython/issues/106905.
"""

import ast
from threading import Lock

_one_at_a_time = Lock()


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a module's source. Raises what `ast.parse` raises for wrong code."""
    with _one_at_a_time:
        while True:
            try:
                return ast.parse(source)
            except SystemError:  # a library parsed in another thread at the same moment, without this lock
                continue
