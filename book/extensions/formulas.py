"""Sphinx extension: write each formula as the HTML that `book/formulas` has stored, so that pages need no MathJax.

A page with a formula that is not stored loads MathJax, which sets that formula. At the end the build names these pages.

A formula stays on one line with the punctuation that touches it. A browser may break the line before or after any
formula, even between the formula and its comma.

A browser leaves MathML out when it reads the name of an element from its content. So a formula in a heading, a link, a
question or the line of a fold has a label in words.
"""

import json
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

from book.extensions.questions import answer_title, question_title
from book.formulas import stored, words

NAME = "stored"
OPENING = re.compile(r"[(\[“‘]+$")
CLOSING = re.compile(r"^[)\]”’.,;:!?]+")
# Elements that get their names from their content.
NAMED = (nodes.title, nodes.rubric, nodes.reference, question_title, answer_title)
NOT_STORED = (
    "These pages load MathJax, because some of their formulas are not stored: {pages}. "
    "To store them, run `make formulas`, which needs Node 20 or newer and npm."
)


class Renderer:
    """Sphinx's renderer for MathJax, with the stored HTML instead of the TeX."""

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
            typeset = stored.typeset(html, self.formulas[formula], formula.tex)
            translator.body[start:] = [words.named(typeset) if _names_something(node) else typeset]
        else:
            self.incomplete.add(translator.builder.current_docname)
        raise nodes.SkipNode

    def add_files(self, app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
        """Give a page with formulas their style sheet and script, and MathJax if it needs it."""
        if doctree is None or app.builder.name != "html":
            return
        if any(isinstance(node, nodes.math | nodes.math_block) for node in doctree.findall()):
            app.add_css_file("formulas.css")
            app.add_js_file("formulas.js", loading_method="defer")
        if page in self.incomplete:
            app.add_js_file(None, body=f"window.MathJax = {json.dumps(app.config.mathjax3_config)}")
            app.add_js_file(app.config.mathjax_path, loading_method="defer")


def _names_something(node: nodes.Node) -> bool:
    """Return whether a node is in an element that gets its name from its content."""
    return node.parent is not None and (isinstance(node.parent, NAMED) or _names_something(node.parent))


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


class KeepPunctuation(SphinxPostTransform):
    """Put each formula and the punctuation that touches it into one span of class "unbroken"."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for formula in list(self.document.findall(nodes.math)):
            before = _cut_punctuation(formula, -1, OPENING)
            after = _cut_punctuation(formula, 1, CLOSING)
            if before or after:
                span = nodes.inline(classes=["unbroken"])
                formula.replace_self(span)
                span += [nodes.Text(before), formula, nodes.Text(after)]


def _cut_punctuation(formula: nodes.math, step: int, punctuation: re.Pattern[str]) -> str:
    """Cut the punctuation off the text beside a formula, and return it.

    step: -1 for the text before the formula, 1 for the text after it.
    """
    siblings = formula.parent.children
    index = siblings.index(formula) + step
    if not 0 <= index < len(siblings) or not isinstance(siblings[index], nodes.Text):
        return ""
    match = punctuation.search(siblings[index])
    if not match:
        return ""
    # Replace the text by its index, because another text may be equal to it.
    formula.parent[index] = nodes.Text(punctuation.sub("", siblings[index]))
    return match[0]


def setup(app: Sphinx) -> None:
    renderer = Renderer()
    app.add_html_math_renderer(NAME, (renderer.visit_inline, None), (renderer.visit_block, None))
    app.add_post_transform(KeepPunctuation)
    app.connect("builder-inited", renderer.load)
    app.connect("html-page-context", renderer.add_files)
    app.connect("build-finished", name_incomplete_pages)
