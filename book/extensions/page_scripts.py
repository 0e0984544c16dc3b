"""Sphinx extension: load the script that filters the index of mistakes, and folds and unfolds its entries.

Without the script the page shows every mistake, and the address of each mistake works.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

PAGE = "chapters/mistakes"


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the script and its style sheet to this page alone."""
    if pagename == PAGE:
        app.add_css_file("mistakes_filter.css")
        app.add_js_file("mistakes_filter.js", loading_method="defer")


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
