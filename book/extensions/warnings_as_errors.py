"""Sphinx extension: fail every build that has a warning, even without Sphinx's option `-W`.

The build fails at its end, so that an author sees all warnings at once.
"""

from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.typing import ExtensionMetadata


def fail_after_warnings(app: Sphinx, exception: Exception | None) -> None:
    """Raise SphinxError if there were warnings.

    An exception here also makes Sphinx forget what it read, so that the next build reads the faulty page again.
    """
    if exception is None and app._warncount:
        raise SphinxError(f"{app._warncount} warning(s), printed above. In this book, each warning is an error.")


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("build-finished", fail_after_warnings, priority=1000)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
