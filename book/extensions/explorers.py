"""Sphinx extension: a picture that answers when one moves it, below a figure that says the same standing still.

    :::{explorer} query
    Drag the arrow, or move the two sliders.
    :::

`query` names a script, `explore-query.js`, which fills the element; the text becomes its caption. Where no script runs,
on paper and in the EPUB, nothing is shown, since the figure is there. The scripts ask for nothing and compute in the
page, so they work from a folder too. Every control is one of HTML's own, for the keyboard's sake.

    :::{explorer} steps
    :walk: attention

    The way back, an arrow at a time.

    dV
    : $\\mathrm{d}V = A^\\top \\mathrm{d}O$. What is said of this step.
    :::

A `walk` is what a cell above has handed over as a `walks.Walk` of that name: numbers that the chapter computed. What is
said of each of its steps stands below, under the step's name, with formulas that the page sets as all others.

    :::{explorer} translator
    :model: translator.npz

    Type a number.
    :::

A `model` is a file of trained parameters beside the page, which brings them as half-precision numbers, 2 bytes each;
`model.js` reads them there and computes the forward pass.
"""

import base64
import json
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from docutils import nodes
from docutils.parsers.rst.directives import unchanged_required
from myst_nb.core.variables import RetrievalError
from myst_nb.ext.glue.utils import retrieve_glue_data
from sphinx.util.docutils import SphinxDirective

STATIC = Path(__file__).parents[1] / "static"


class explorer(nodes.General, nodes.Element):
    """A place for a script's picture; `script` is its file's name, `walk` or `model` what it is given, or None."""


class Explorer(SphinxDirective):
    """`{explorer} NAME`, and below it what one can do there."""

    required_arguments = 1
    option_spec = {"walk": unchanged_required, "model": unchanged_required}
    has_content = True

    def run(self):
        script = f"explore-{self.arguments[0]}.js"
        if not (STATIC / script).exists():
            raise self.error(f"there is no explorer {self.arguments[0]!r}: {script} is missing in {STATIC.name}/")
        words = self.parse_content_to_nodes()
        walk = self._walk(self.options["walk"], words) if "walk" in self.options else None
        model = self._model(self.options["model"]) if "model" in self.options else None
        return [explorer("", *words, script=script, name=self.arguments[0], walk=walk, model=model)]

    def _walk(self, name, words):
        """What a cell has handed over under that name; what is said of its steps must be said of these."""
        try:
            walk = json.loads(retrieve_glue_data(self.state.document, name).data["application/json"])
        except RetrievalError:
            raise self.error(f"no cell above hands over a walks.Walk called {name!r}") from None
        steps = [step["name"] for step in walk["steps"]]
        said = [term.astext() for part in words for term in part.findall(nodes.term)]
        if steps != said:
            raise self.error(f"the walk {name!r} goes {', '.join(steps)}; said is something of {', '.join(said)}")
        return walk

    def _model(self, name):
        """The arrays of a file of parameters: their shapes by their names, and all their numbers in that order."""
        relative, path = self.env.relfn2path(name)
        self.env.note_dependency(relative)
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name].astype("<f2") for name in file.files}
        except (OSError, ValueError, BadZipFile) as error:
            raise self.error(f"no parameters can be read from {name!r}: {error}") from None
        numbers = b"".join(array.tobytes() for array in arrays.values())
        shapes = {name: array.shape for name, array in arrays.items()}
        return {"shapes": shapes, "float16": base64.b64encode(numbers).decode()}


def visit_html(self, node):
    if self.builder.name != "html":  # the EPUB's writer is the pages' own
        raise nodes.SkipNode
    self.body.append(f'<div class="explorer" data-explorer="{node["name"]}" hidden>\n<div class="explorer-caption">\n')


def depart_html(self, node):
    self.body.append("</div>\n")
    if given := node["walk"] or node["model"]:
        data = json.dumps(given, ensure_ascii=False).replace("<", "\\u003c")  # so that no word ends the element
        self.body.append(f'<script type="application/json">{data}</script>\n')
    self.body.append("</div>\n")


def skip(self, node):
    raise nodes.SkipNode


def load_scripts(app, pagename, templatename, context, doctree):
    """Only a page with an explorer loads its script, below what that needs."""
    found = list(doctree.findall(explorer)) if doctree is not None else []
    if not found:
        return
    app.add_css_file("explorers.css")
    needed = ["explorers.js", *(["model.js"] if any(node["model"] for node in found) else [])]
    for script in (*needed, *sorted({node["script"] for node in found})):
        app.add_js_file(script, loading_method="defer")


def setup(app):
    app.add_directive("explorer", Explorer)
    app.add_node(explorer, html=(visit_html, depart_html), latex=(skip, None), text=(skip, None))
    app.connect("html-page-context", load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
