"""Sphinx extension: write each formula as the HTML that `book/formulas` has stored, so that pages need no MathJax.

A page with a formula that is not stored loads MathJax, which sets that formula. At the end the build names these pages.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

from book.formulas import stored

NAME = "stored"
NOT_STORED = (
    "These pages load MathJax, because some of their formulas are not stored: {pages}. "
    "To store them, run `make formulas`, which needs Node 20 or newer and npm."
)


class Renderer:
    """Sphinx's renderer for MathJax, with the stored HTML in place of the TeX."""

    def __init__(self) -> None:
        self.formulas: stored.Formulas = {}
        self.incomplete: set[str] = set()  # the names of the pages that need MathJax

    def load(self, app: Sphinx) -> None:
        """Read the stored formulas."""
        self.formulas = stored.load(stored.recipe(app.config.mathjax3_config))

    def visit_inline(self, translator: HTML5Translator, node: nodes.math) -> None:
        self._visit(translator, node, translator.builder.app.registry.html_inline_math_renderers)

    def visit_block(self, translator: HTML5Translator, node: nodes.math_block) -> None:
        self._visit(translator, node, translator.builder.app.registry.html_block_math_renderers)

    def _visit(self, translator: HTML5Translator, node: nodes.Element, renderers: dict[str, Any]) -> None:
        visit, _ = renderers["mathjax"]  # MyST replaces Sphinx's own when the build starts
        start = len(translator.body)
        with suppress(nodes.SkipNode):
            visit(translator, node)
        html = "".join(translator.body[start:])
        formula = stored.formula_in(html)
        if formula in self.formulas:
            translator.body[start:] = [stored.typeset(html, self.formulas[formula], formula.tex)]
        else:
            self.incomplete.add(translator.builder.current_docname)
        raise nodes.SkipNode

    def add_files(
        self, app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
    ) -> None:
        """Give a page with formulas their style sheet and script, and MathJax if it needs it."""
        if doctree is None or app.builder.name != "html":
            return
        if any(isinstance(node, nodes.math | nodes.math_block) for node in doctree.findall()):
            app.add_css_file("formulas.css")
            app.add_js_file("formulas.js", loading_method="defer")
        if pagename in self.incomplete:
            app.add_js_file(None, body=f"window.MathJax = {json.dumps(app.config.mathjax3_config)}")
            app.add_js_file(app.config.mathjax_path, loading_method="defer")


def name_incomplete_pages(app: Sphinx, exception: Exception | None) -> None:
    """Print which pages load MathJax. With `--quiet` Sphinx shows only warnings, and a warning would fail the build."""
    if exception or app.builder.name != "html":
        return
    script = f"_static/{app.config.mathjax_path}"
    pages = [
        file.stem for file in sorted(Path(app.outdir).rglob("*.html")) if script in file.read_text(encoding="utf-8")
    ]
    if pages:
        print(NOT_STORED.format(pages=", ".join(pages)), file=sys.stderr)


def setup(app: Sphinx) -> ExtensionMetadata:
    renderer = Renderer()
    app.add_html_math_renderer(NAME, (renderer.visit_inline, None), (renderer.visit_block, None))
    app.connect("builder-inited", renderer.load)
    app.connect("html-page-context", renderer.add_files)
    app.connect("build-finished", name_incomplete_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
