"""Sphinx extension: the core path through a chapter, and how long it takes.

`{.off-core-path}` above a heading puts a badge beside it, on the page and in its contents: at a first reading one may
skip this section. `{reading-time}` at the top of a chapter says how long the core path and the whole chapter take, by
the rule of `autograder.chapter.reading_time`.
"""

from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from autograder.chapter import reading_time

OFF = "off-core-path"


class MarkOffCorePath(SphinxTransform):
    """A place for the badge in each title; it has no text, so that searches and references show the title alone."""

    default_priority = 500  # before Sphinx collects the contents

    def apply(self, **kwargs):
        for section in self.document.findall(nodes.section):
            if OFF in section["classes"]:
                section[0] += nodes.inline(classes=[f"{OFF}-badge"])


class ReadingTime(SphinxDirective):
    """`{reading-time}`: a paragraph, computed from the page."""

    def run(self):
        text = Path(self.env.doc2path(self.env.docname)).read_text(encoding="utf-8")
        return self.parse_text_to_nodes(str(reading_time.of(text)))


def load_style(app, pagename, templatename, context, doctree):
    """Only a page with a badge needs its style."""
    if doctree is not None and any(OFF in section["classes"] for section in doctree.findall(nodes.section)):
        app.add_css_file("core_path.css")


def setup(app):
    app.add_transform(MarkOffCorePath)
    app.add_directive("reading-time", ReadingTime)
    app.connect("html-page-context", load_style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
