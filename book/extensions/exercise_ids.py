"""Sphinx extension: take away the id that sphinx-exercise gives to the content of every exercise.

An id must occur once in a page. The exercise itself keeps its own.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

REPEATED = "exercise-content"


def remove_repeated_ids(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Remove the repeated id from a page."""
    for section in doctree.findall(nodes.section):
        if REPEATED in section["ids"]:
            section["ids"].remove(REPEATED)


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("doctree-resolved", remove_repeated_ids)  # Sphinx reads the ids of all sections before
    return {"parallel_read_safe": True, "parallel_write_safe": True}
