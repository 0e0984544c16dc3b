"""Tell students what is wrong with their functions: `from check import check, hand_in, what_is_left`.

Students get the whole package. It needs only NumPy, and imports nothing else of this repository.
"""

import sys
from typing import Any

# Before any other import, in syntax that every Python 3 can read: an older Python would stop at a syntax error instead.
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(f"This course needs Python 3.11 or newer; this is {sys.version_info[0]}.{sys.version_info[1]}.")

__all__ = ["check", "hand_in", "what_is_left"]


def __getattr__(name: str) -> Any:
    """Import the notebook's tools on first use, so that the grader and the sandbox can import the judge alone."""
    if name in __all__:
        from check import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module 'check' has no attribute {name!r}")
