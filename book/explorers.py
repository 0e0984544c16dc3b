"""Sphinx extension: a picture that answers when one moves it, below a figure that says the same standing still.

    :::{explorer} query
    Drag the arrow, or move the two sliders.
    :::

`query` names a script, `explore-query.js`, which fills the element; the text becomes its caption. Where no script runs,
on paper and in the EPUB, nothing is shown, since the figure is there. The scripts ask for nothing and compute in the
page, so they work from a folder too. Every control is one of HTML's own, for the keyboard's sake.
"""

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

STATIC = Path(__file__).with_name("static")


class explorer(nodes.General, nodes.Element):
    """A place for a script's picture; `script` is its file's name."""


class Explorer(SphinxDirective):
    """`{explorer} NAME`, and below it what one can do there."""

    required_arguments = 1
    has_content = True

    def run(self):
        script = f"explore-{self.arguments[0]}.js"
        if not (STATIC / script).exists():
            raise self.error(f"there is no explorer {self.arguments[0]!r}: {script} is missing in {STATIC.name}/")
        return [explorer("", *self.parse_content_to_nodes(), script=script, name=self.arguments[0])]


def visit_html(self, node):
    if self.builder.name != "html":  # the EPUB's writer is the pages' own
        raise nodes.SkipNode
    self.body.append(f'<div class="explorer" data-explorer="{node["name"]}" hidden>\n<div class="explorer-caption">\n')


def depart_html(self, node):
    self.body.append("</div>\n</div>\n")


def skip(self, node):
    raise nodes.SkipNode


def load_scripts(app, pagename, templatename, context, doctree):
    """Only a page with an explorer loads its script."""
    found = {node["script"] for node in doctree.findall(explorer)} if doctree is not None else set()
    if found:
        app.add_css_file("explorers.css")
    for script in ("explorers.js", *sorted(found)) if found else ():
        app.add_js_file(script, loading_method="defer")


def setup(app):
    app.add_directive("explorer", Explorer)
    app.add_node(explorer, html=(visit_html, depart_html), latex=(skip, None), text=(skip, None))
    app.connect("html-page-context", load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
