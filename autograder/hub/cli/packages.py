"""Say which packages a command of this room lacks, and how to install them."""

from collections.abc import Iterator
from contextlib import contextmanager

from autograder.errors import UserError

NEEDED = {"jwt": "PyJWT", "watchfiles": "watchfiles"}  # module -> package; nbgrader brings the others


@contextmanager
def hub_packages() -> Iterator[None]:
    """Raise UserError, which names the command that installs it, if code inside imports a package that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        raise UserError(
            f"this command needs the Python package `{NEEDED[error.name]}`, which `make` does not install because only "
            "some courses need it: run `make formgrader`"
        ) from error
