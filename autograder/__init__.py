"""The judge of "The Transformer by Hand". Students need two names of it: `check` and `what_is_left`."""

import sys

# First of all, and in words that any Python 3 can read: an older one would stumble over what comes next.
if sys.version_info < (3, 11):  # noqa: UP036
    raise ImportError(f"This course needs Python 3.11 or newer; this is {sys.version_info[0]}.{sys.version_info[1]}.")

from autograder.check import waiting
from autograder.check.check import check
from autograder.check.left import what_is_left

__all__ = ["check", "what_is_left"]

waiting.begin()
