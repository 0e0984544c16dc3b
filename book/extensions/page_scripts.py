"""Sphinx extension: give a single page the script and the style sheet that make it interactive.

Without its script the index of mistakes shows every mistake, and the graph of the exercises every line.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

# Page -> the name of its style sheet and of its script in static/.
SCRIPTS = {"chapters/mistakes": "mistakes_filter", "chapters/exercises": "exercise_graph"}


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Add the script and its style sheet to their own page only."""
    if name := SCRIPTS.get(pagename):
        app.add_css_file(f"{name}.css")
        app.add_js_file(f"{name}.js", loading_method="defer")


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
