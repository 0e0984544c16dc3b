"""Sphinx extension: load the script that orders search results and shows excerpts without TeX, `static/search.js`."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.typing import ExtensionMetadata


def keep_index_entries(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages with index entries (the glossary's terms), which Sphinx must write again in every build.

    When Sphinx adds a page to an existing search index, it drops the index entries of all other pages
    (https://github.com/sphinx-doc/sphinx/issues/12599).
    """
    return [docname for docname, entries in env.domains["index"].entries.items() if entries]  # type: ignore[attr-defined]


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give the search page our script, which changes Sphinx's own search tools before they start."""
    if pagename == "search":
        app.add_js_file("search.js", loading_method="defer")


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("env-updated", keep_index_entries)
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
