"""Sphinx extension: give the search page our scripts, and the other names of the sections.

`static/search.js` orders the results and shows excerpts without TeX. `chapters/search_names.yml` lists the names under
which readers may search for a section, such as "KV cache". A name for a section that does not exist is a warning.
"""

import json
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

NAMES = "chapters/search_names.yml"
logger = logging.getLogger(__name__)


def keep_index_entries(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages with index entries (the glossary's terms), which Sphinx must write again in every build.

    When Sphinx adds a page to an existing search index, it drops the index entries of all other pages
    (https://github.com/sphinx-doc/sphinx/issues/12599).
    """
    return [docname for docname, entries in env.domains["index"].entries.items() if entries]  # type: ignore[attr-defined]


def names(root: Path) -> dict[str, list[str]]:
    """Return the other names of the sections: "chapters/page#anchor" or "chapters/page" -> names.

    A book without the file has no such names.
    """
    file = root / NAMES
    listed = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {f"{file.parent.name}/{place}": others for place, others in listed.items()}


def check_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn about names for a section that no page has."""
    for place in names(Path(app.srcdir)):
        page, sign, anchor = place.partition("#")
        contents = env.tocs.get(page, nodes.bullet_list())  # the anchor of the page itself is empty
        if sign + anchor not in {entry["anchorname"] for entry in contents.findall(nodes.reference)}:
            logger.warning("%s names a section that does not exist: %s", NAMES, place)


def add_to_search_page(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Give the search page the names and our scripts, which change Sphinx's own search tools before they start."""
    if page == "search":
        text = json.dumps(names(Path(app.srcdir)), ensure_ascii=False).replace("<", "\\u003c")
        data = f'\n<script type="application/json" id="search-names">{text}</script>'
        context["metatags"] = context.get("metatags", "") + data  # Sphinx sets no metatags for this page
        for script in ("search_words.js", "search.js"):
            app.add_js_file(script, loading_method="defer")


def setup(app: Sphinx) -> None:
    app.connect("env-updated", keep_index_entries)
    app.connect("env-check-consistency", check_names)
    app.connect("html-page-context", add_to_search_page)
