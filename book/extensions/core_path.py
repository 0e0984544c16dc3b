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

from autograder.chapter import reading_time
from book.extensions.page_files import add_files

OFF = "off-core-path"


def is_off(node: nodes.Node) -> bool:
    return isinstance(node, nodes.section) and OFF in node["classes"]


class MarkOffCorePath(SphinxTransform):
    """Add a place for the badge to each title. It has no text, so that search and references show only the title."""

    default_priority = 500  # before Sphinx collects the table of contents

    def apply(self, **kwargs: Any) -> None:
        for section in self.document.findall(is_off):
            section[0] += nodes.inline(classes=[f"{OFF}-badge"])


class ReadingTime(SphinxDirective):
    """`{reading-time}`: a paragraph with the times of the page."""

    def run(self) -> list[nodes.Node]:
        text = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        return self.parse_text_to_nodes(str(reading_time.estimate(text)))


def setup(app: Sphinx) -> None:
    app.add_transform(MarkOffCorePath)
    app.add_directive("reading-time", ReadingTime)
    add_files(app, "core_path.css", where=lambda page, doctree: any(doctree.findall(is_off)))
