"""Sphinx extension: fail the build if a page or style sheet would load something from another machine."""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata

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

    Args:
        text: the source of a page or a style sheet.

    Returns:
        list of str, in the order of the text, without links, which load nothing until a reader clicks them.
    """
    return [next(filter(None, match.groups())) for match in LOADED.finditer(text)]


def warn_of_external_assets(app: Sphinx, exception: Exception | None) -> None:
    """Warn of every page and style sheet that loads something from another machine. A warning fails the build."""
    if exception:
        return
    for path in sorted(Path(app.outdir).rglob("*")):
        if path.suffix in (".html", ".css"):
            for address in external_assets(path.read_text(encoding="utf-8")):
                logger.warning("loads %s from another machine", address, location=str(path), type="external_assets")


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("build-finished", warn_of_external_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
