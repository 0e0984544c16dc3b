"""Sphinx extension: leave out the theme's scripts that no page needs, 1.8 MB of 5.3 MB in a chapter.

Font Awesome's script replaces each icon by an image. In this book the icons are characters of a font (`icons.css`).
The theme loads Sphinx's search and its index into every page, for results while the reader types, which are switched
off. The page `search.html` loads the search itself. `templates/layout.html` calls `without_unused_scripts`.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

UNUSED = "fontawesome|searchtools|language_data|searchindex"
SCRIPT = re.compile(rf'<script\b[^>]*\ssrc="[^"]*/?(?:{UNUSED})\.js[^>]*></script>')


def without_unused_scripts(head: str) -> str:
    """Return a part of a page's head without these scripts."""
    return SCRIPT.sub("", head)


def add_to_templates(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Make the function available in the templates."""
    context["without_unused_scripts"] = without_unused_scripts


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("html-page-context", add_to_templates)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
