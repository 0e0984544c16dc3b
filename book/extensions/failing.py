"""Sphinx extension: fail a build that has a warning, or a page that would load something from another machine.

Sphinx's option `-W` is not needed. The build fails at its end, so that an author sees all warnings at once.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util import logging

LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|modulepreload|icon|preconnect))[^>]*?\shref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|@import\s+(?:url\()?["']?((?:https?:)?//[^"')\s]+)"""
    r"""|url\(["']?((?:https?:)?//[^"')\s]+)""",
    re.IGNORECASE,
)

logger = logging.getLogger(__name__)


def external_assets(text: str) -> list[str]:
    """Return the addresses on other machines that a browser loads when it opens this HTML or CSS.

    Links do not count: they load nothing until a reader clicks them.
    """
    return [next(filter(None, match.groups())) for match in LOADED.finditer(text)]


def warn_of_external_assets(app: Sphinx, exception: Exception | None) -> None:
    """Warn about every page and style sheet that loads something from another machine. A warning fails the build."""
    if exception:
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in (".html", ".css"):
            for address in external_assets(path.read_text(encoding="utf-8")):
                logger.warning("loads %s from another machine", address, location=str(path), type="external_assets")


def fail_after_warnings(app: Sphinx, exception: Exception | None) -> None:
    """Raise SphinxError if there were warnings.

    An exception here also makes Sphinx forget what it read, so that the next build reads the faulty page again.
    """
    if exception is None and app._warncount:
        raise SphinxError(f"{app._warncount} warning(s), printed above. In this book, each warning is an error.")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", warn_of_external_assets)
    app.connect("build-finished", fail_after_warnings, priority=1000)
