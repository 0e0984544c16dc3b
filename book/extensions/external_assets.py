"""Sphinx extension: nothing in the built book is fetched from another machine, and the build fails if it would be."""

import re
from pathlib import Path

from sphinx.util import logging

FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\ssrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|modulepreload|icon|preconnect))[^>]*?\shref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|@import\s+(?:url\()?["']?((?:https?:)?//[^"')\s]+)"""
    r"""|url\(["']?((?:https?:)?//[^"')\s]+)""",
    re.IGNORECASE,
)

logger = logging.getLogger(__name__)


def external_assets(html):
    """The addresses on other machines that a browser would fetch by itself when it opens this HTML or CSS.

    Args:
        html: the text of a page or a style sheet.

    Returns:
        list of str, in the order of the text; links that a reader has to click are not among them.
    """
    return [next(filter(None, match.groups())) for match in FETCHED.finditer(html)]


def refuse_external_assets(app, exception):
    """Warn, and so fail the build, for every page and style sheet that would fetch something from elsewhere."""
    if exception:
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in (".html", ".css"):
            for address in external_assets(path.read_text(encoding="utf-8")):
                logger.warning("fetches %s from another machine", address, location=str(path), type="offline")


def setup(app):
    app.connect("build-finished", refuse_external_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
