"""Sphinx extension: give style sheets and scripts to the pages that need them, and to no others.

Without its script the index of mistakes shows every mistake, and the graph of the exercises every line.

Some of the theme's scripts are left out, 1.8 MB of 5.3 MB in a chapter. Font Awesome's script replaces each icon by an
image. In this book the icons are characters of a font (`icons.css`). The theme loads Sphinx's search and its index into
every page, for results while the reader types, which are switched off. The page `search.html` loads the search itself.

Sphinx and the theme's extensions let the text wait for each of their scripts in turn. They run after the text instead,
in the same order, except for two small ones, which define what scripts inside the page and deferred ones use. The theme
preloads its two scripts, which would arrive at the cost of the style sheets.
`templates/layout.html` calls `without_unused_scripts` and `deferred`.
"""

import re
from collections.abc import Callable
from functools import partial

from docutils import nodes
from sphinx.application import Sphinx

# Page -> the name of its style sheet and of its script in static/.
OF_ONE_PAGE = {"chapters/mistakes": "mistakes_filter", "chapters/exercises": "exercise_graph"}
UNUSED = "fontawesome|searchtools|language_data|searchindex"
SCRIPT = re.compile(
    rf'<script\b[^>]*\ssrc="[^"]*/?(?:{UNUSED})\.js[^>]*></script>|<link rel="preload" as="script"[^>]*>'
)
WAITED_FOR = re.compile(r"<script(?=[^>]*\ssrc=)(?![^>]*(?:\sdefer|\stype=|/(?:documentation_options|storage)\.js))")


def add_files(app: Sphinx, *files: str, where: Callable[[str, nodes.document], bool]) -> None:
    """Give files in static/ to each page for which `where` is true, given the page's name and content."""

    def add(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
        if doctree is not None and where(page, doctree):
            for file in files:
                if file.endswith(".css"):
                    app.add_css_file(file)
                else:
                    app.add_js_file(file, loading_method="defer")

    app.connect("html-page-context", add)


def _is(wanted: str, page: str, doctree: nodes.document) -> bool:
    return page == wanted


def add_to_templates(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Let a template remove the unused scripts from a part of a page's head, or defer the scripts in it."""
    context["without_unused_scripts"] = partial(SCRIPT.sub, "")
    context["deferred"] = partial(WAITED_FOR.sub, "<script defer")


def setup(app: Sphinx) -> None:
    for page, name in OF_ONE_PAGE.items():
        add_files(app, f"{name}.css", f"{name}.js", where=partial(_is, page))
    app.connect("html-page-context", add_to_templates)
