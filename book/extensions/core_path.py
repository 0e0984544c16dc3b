"""Sphinx extension: mark the sections off a chapter's core path, and say how long the chapter takes.

`{.off-core-path}` above a heading puts a badge beside it, on the page and in the page's table of contents. A reader may
skip this section at first. `{reading-time}` at the top of a chapter says how long the core path and the whole chapter
take. `autograder.chapter.reading_time` computes the times.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from autograder.chapter import reading_time

OFF = "off-core-path"


class MarkOffCorePath(SphinxTransform):
    """Add a place for the badge to each title. It has no text, so that search and references show the title alone."""

    default_priority = 500  # before Sphinx collects the table of contents

    def apply(self, **kwargs: Any) -> None:
        for section in self.document.findall(nodes.section):
            if OFF in section["classes"]:
                section[0] += nodes.inline(classes=[f"{OFF}-badge"])


class ReadingTime(SphinxDirective):
    """`{reading-time}`: a paragraph with the times of the page."""

    def run(self) -> list[nodes.Node]:
        text = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        return self.parse_text_to_nodes(str(reading_time.estimate(text)))


def add_style(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the style sheet to the pages that have a badge."""
    if doctree is not None and any(OFF in section["classes"] for section in doctree.findall(nodes.section)):
        app.add_css_file("core_path.css")


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_transform(MarkOffCorePath)
    app.add_directive("reading-time", ReadingTime)
    app.connect("html-page-context", add_style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
