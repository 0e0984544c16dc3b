"""The judge of "The Transformer by Hand". Students need one name of it: `check`."""

import sys

# First of all, and in words that any Python 3 can read: an older one would stumble over what comes next.
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(f"This course needs Python 3.11 or newer; this is {sys.version_info[0]}.{sys.version_info[1]}.")

from autograder.check.check import check

__all__ = ["check"]
