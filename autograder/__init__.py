"""The judge of "The Transformer by Hand". Students need one name of it: `check`."""

from autograder.checking import check

__all__ = ["check"]
