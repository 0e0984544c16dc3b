"""The base class of the errors that a user of a command can cause."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class UserError(Exception):
    """A command stops because of something that its user did or must do; the message says what, in the user's words.

    The command line prints the message of such an error. Every other exception is a bug, and shows its traceback.
    """


@contextmanager
def named_by_user(path: Path) -> Iterator[None]:
    """Raise UserError, with the path, if the system refuses to open, read or write a file that the user named."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
