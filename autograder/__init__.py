"""The judge of "The Transformer by Hand". Students need one name of it: `check`."""

from autograder.check.check import check

__all__ = ["check"]
