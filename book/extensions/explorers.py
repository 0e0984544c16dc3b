"""Sphinx extension: an interactive picture, below a static figure that shows the same.

The page *For authors* shows how to write one. The script `static/explore-NAME.js` fills it. The scripts load nothing
and compute in the page, so they also work when a page is opened from a disk. Each control is a standard HTML control,
for the keyboard. Paper and the EPUB, where no script runs, omit the explorer, because the figure is there. (The figure
of the explorer at the opening of chapter 1 is in chapter 4. The text above the explorer links to it.)

A `walk` contains numbers that the chapter computed: a cell above has shown a `walks.Walk` of that name. A `model` is a
file of trained parameters beside the page, which the page contains in half precision, or as codes of a few bits.
`static/model.js` computes the forward pass. With `words` the page also contains words to test the model on, and
`static/npz.js` reads a reader's own weights. With `back` it contains the parameters of another model, which reads what
the first one writes. With `entries` and `stack` it contains the merges of a model of definitions, and a stack that
invents words. With `near` instead of `model`, the page loads all this and the scripts only when the reader scrolls near
the explorer.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from docutils import nodes
from docutils.parsers.rst.directives import unchanged_required
from myst_nb.core.variables import RetrievalError
from myst_nb.ext.glue.utils import retrieve_glue_data
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from book.explorer_data import entries_of, parameters_of, six_bits, unseen_words

STATIC = Path(__file__).parents[1] / "static"
# option -> what the page contains of its file, besides the parameters of the model
MORE = {"words": unseen_words, "back": parameters_of, "entries": entries_of, "stack": six_bits}
SHARED = {  # explorer -> its other scripts: those that explorers share, and those that show nothing
    "sentence": ("translator.js",),
    "translator": ("translator.js",),
    "inventor": ("spelling.js",),
    "pronouncer": ("spelling.js",),
    "definer": ("definer.js", "spelling.js"),
}
LATER = "text/explorer"  # the type of scripts that a browser does not load; see `loadWhenNear` in explorers.js


class explorer(nodes.General, nodes.Element):
    """The place of an interactive picture.

    `script` is the name of its script's file. `walk` and `model` are the data that the script gets, or None. `loads` is
    the name of the model that the page loads when the reader scrolls near, or "".
    """


class Explorer(SphinxDirective):
    """`{explorer} NAME`, with its caption as content."""

    required_arguments = 1
    option_spec = dict.fromkeys(("walk", "model", "near", *MORE), unchanged_required)
    has_content = True

    def run(self) -> list[nodes.Node]:
        script = f"explore-{self.arguments[0]}.js"
        if not (STATIC / script).exists():
            raise self.error(f"there is no explorer {self.arguments[0]!r}: {script} is missing in {STATIC.name}/")
        caption = self.parse_content_to_nodes()
        walk = self._walk(self.options["walk"], caption) if "walk" in self.options else None
        loads = self.options.get("near", "")
        file = self.options.get("model", loads)
        model = self._read(file, parameters_of) if file else None
        if model:
            model |= {name: self._read(self.options[name], MORE[name]) for name in MORE if name in self.options}
        return [explorer("", *caption, script=script, name=self.arguments[0], walk=walk, model=model, loads=loads)]

    def _walk(self, name: str, caption: list[nodes.Node]) -> dict[str, Any]:
        """Return the walk that a cell has shown under that name. The caption must describe exactly its steps."""
        try:
            walk = json.loads(retrieve_glue_data(self.state.document, name).data["application/json"])
        except RetrievalError:
            raise self.error(f"no cell above shows a walks.Walk called {name!r}") from None
        steps = [step["name"] for step in walk["steps"]]
        described = [term.astext() for part in caption for term in part.findall(nodes.term)]
        if steps != described:
            raise self.error(
                f"the steps of the walk {name!r} are {', '.join(steps)}; the text describes {', '.join(described)}"
            )
        return walk

    def _read(self, name: str, read: Callable[[Path], Any]) -> Any:
        """Return what `read` makes of a file beside the page."""
        relative, path = self.env.relfn2path(name)
        self.env.note_dependency(relative)
        try:
            return read(Path(path))
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise self.error(f"cannot read {name!r}: {error}") from None


def visit_html(self: HTML5Translator, node: explorer) -> None:
    if self.builder.name != "html":  # the EPUB's writer is a subclass of the HTML writer
        raise nodes.SkipNode
    loads = f' data-loads="{node["loads"]}"' if node["loads"] else ""
    self.body.append(
        f'<div class="explorer" data-explorer="{node["name"]}"{loads} hidden>\n<div class="explorer-caption">\n'
    )


def depart_html(self: HTML5Translator, node: explorer) -> None:
    self.body.append("</div>\n")
    if (data := node["walk"] or node["model"]) and not node["loads"]:
        text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")  # "</script" would end the element
        self.body.append(f'<script type="application/json">{text}</script>\n')
    self.body.append("</div>\n")


def skip(self: nodes.NodeVisitor, node: explorer) -> None:
    raise nodes.SkipNode


def add_scripts(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Add the scripts of a page's explorers to the page, each after the scripts that it needs."""
    explorers = list(doctree.findall(explorer)) if doctree is not None else []
    if not explorers:
        return
    app.add_css_file("explorers.css")
    app.add_css_file("sliders.css")
    at_once = _scripts([node for node in explorers if not node["loads"]])
    for script in ["explorers.js", *at_once]:
        app.add_js_file(script, loading_method="defer")
    later = [node for node in explorers if node["loads"]]
    for script in [*(_model_script(app, node) for node in later), *_scripts(later)]:
        if script not in at_once:
            app.add_js_file(script, type=LATER)


def _scripts(explorers: list[explorer]) -> list[str]:
    """Return the names of the scripts of these explorers, each after the scripts that it needs."""
    models = [node["model"] for node in explorers if node["model"]]
    needed = ["model.js"] if models else []
    needed += ["npz.js"] if any({"words", "entries"} & set(model) for model in models) else []
    needed += sorted({script for node in explorers for script in SHARED.get(node["name"], ())})
    return [*needed, *sorted({node["script"] for node in explorers})]


def _model_script(app: Sphinx, node: explorer) -> str:
    """Write a script with the model that a page loads later, and return its name in _static."""
    script = Path(app.outdir, "_static", f"{node['loads']}.js")
    script.parent.mkdir(exist_ok=True)
    model = {name: value for name, value in node["model"].items() if name != "notice"}
    comment = f"/*\n{node['model']['notice']}\n*/\n" if "notice" in node["model"] else ""
    data = json.dumps(model, separators=(",", ":"))
    script.write_text(f"{comment}Explorers.loaded[{json.dumps(node['loads'])}] = {data};\n", encoding="utf-8")
    return script.name


def setup(app: Sphinx) -> None:
    app.add_directive("explorer", Explorer)
    app.add_node(explorer, html=(visit_html, depart_html), latex=(skip, None), text=(skip, None))
    app.connect("html-page-context", add_scripts)
