"""Tell students what is wrong with their functions: `from check import check, hand_in, what_is_left`.

Students get the whole package. It needs only NumPy, and imports nothing else of this repository.
"""

import os
import sys
from typing import Any

# Before any other import, in syntax that every Python 3 can read: an older Python would stop at a syntax error instead.
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(f"This course needs Python 3.11 or newer; this is {sys.version_info[0]}.{sys.version_info[1]}.")

__all__ = ["check", "hand_in", "what_is_left"]

GRADING = "CHECK_GRADING"  # environment variable that the grader sets where it runs a notebook


def __getattr__(name: str) -> Any:
    """Import the notebook's tools on first use, so that the grader and the sandbox can import the judge alone."""
    if name in __all__:
        if GRADING in os.environ:
            return _not_now
        from check import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'check' has no attribute {name!r}")


def _not_now(*_: object, **__: object) -> None:
    """Do nothing: the grader judges by itself, and the notebook that it runs has no answer keys."""
