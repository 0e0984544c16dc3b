"""Sphinx extension: show a term's definition beside the term, by mouse, keyboard or finger.

Terms are Sphinx's own, with `{glossary}` on one page of the book and `{term}` on the others. Each page contains the
definitions of the terms that it uses, because a page opened from a disk can load nothing. Without JavaScript a term is
a link to the glossary.
"""

from collections.abc import Iterable
from html import escape

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

PAGE = "chapters/glossary"
FIRST_USE = "first-use"

logger = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ first uses


def store_uses(app: Sphinx, doctree: nodes.document) -> None:
    """Store which terms a page uses, each with its section. Sphinx reads the page again if the glossary changes."""
    uses: dict[str, tuple[str, str]] = {}
    for reference in doctree.findall(pending_xref):
        if reference["reftype"] == "term" and app.env.docname != PAGE:
            uses.setdefault(reference["reftarget"].lower(), _section(reference))
    if uses:
        app.env.metadata[app.env.docname]["terms"] = uses
        app.env.note_dependency(app.env.doc2path(PAGE))


def first_uses(env: BuildEnvironment) -> dict[str, tuple[str, str, str]]:
    """Return term in lower case -> where the book first uses it: the page, and the section's id and title."""
    first: dict[str, tuple[str, str, str]] = {}
    for docname in env.collect_relations():
        for term, section in env.metadata[docname].get("terms", {}).items():
            first.setdefault(term, (docname, *section))
    return first


def check_glossary(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Warn about formulas in the glossary. Return the glossary's page, to write it again, if first uses changed."""
    if PAGE not in env.found_docs:
        return []
    # A page shows a definition even if the page has not loaded MathJax.
    for definition in env.get_doctree(PAGE).findall(nodes.definition):
        if any(definition.findall(nodes.math)) or any(definition.findall(nodes.math_block)):
            logger.warning("a formula in a definition: use words instead", location=definition, type="glossary")
    metadata = env.metadata[PAGE]
    before, metadata["first uses"] = metadata.get("first uses"), first_uses(env)
    return [PAGE] if metadata["first uses"] != before else []


def add_first_uses(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Add to each definition of the glossary a link to the first use of its term."""
    if docname != PAGE:
        return
    first = app.env.metadata[PAGE]["first uses"]
    for item in doctree.findall(nodes.definition_list_item):
        *terms, definition = item.children
        for term in terms:
            if use := first.get(term.astext().lower()):
                definition += _first_use(app, *use)


def _first_use(app: Sphinx, page: str, section: str, title: str) -> nodes.paragraph:
    numbers = app.env.toc_secnumbers.get(page, {})
    number = numbers.get(f"#{section}", numbers.get("", ()))  # Sphinx stores the number of the page itself under ""
    link = nodes.reference("", f"{'.'.join(map(str, number))} {title}".strip(), internal=True)
    link["refuri"] = f"{app.builder.get_relative_uri(PAGE, page)}#{section}"
    return nodes.paragraph("", "First used in ", link, nodes.Text("."), classes=[FIRST_USE])


def _section(node: nodes.Node) -> tuple[str, str]:
    """Return the id and the title of the section around a node. An exercise is a section without a title: skip it."""
    while not (isinstance(node, nodes.section) and isinstance(node[0], nodes.title)):
        node = node.parent
    return node["ids"][0], node[0].astext()


# ------------------------------------------------------------------------------------------------ definitions


class Definitions:
    """The definitions of the glossary as HTML, rendered once in a build."""

    def __init__(self) -> None:
        self.by_id: dict[str, str] = {}

    def add_to_page(self, app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
        """Append the definitions of the page's terms, hidden, each under the id that its link ends in.

        An embedded builder, such as that of the EPUB, makes pages that run no scripts. Their terms are only links.
        """
        builder = app.builder
        if doctree is None or page == PAGE or not isinstance(builder, StandaloneHTMLBuilder) or builder.embedded:
            return
        ids = [_fragment(reference) for reference in doctree.findall(nodes.reference) if _is_term(reference)]
        if not ids:
            return
        self.by_id = self.by_id or render_definitions(app.env, builder)
        boxes = [
            f'<div class="term-definition" role="tooltip" id="definition-{term}">{self.by_id[term]}</div>\n'
            for term in dict.fromkeys(ids)
        ]
        context["body"] += f'<div class="term-definitions" hidden>\n{"".join(boxes)}</div>\n'
        app.add_css_file("glossary.css")
        app.add_js_file("glossary.js", loading_method="defer")


def render_definitions(env: BuildEnvironment, builder: StandaloneHTMLBuilder) -> dict[str, str]:
    """Return the HTML of each definition by the id of its term. Links in a definition become plain text."""
    rendered: dict[str, str] = {}
    for item in env.get_and_resolve_doctree(PAGE, builder).findall(nodes.definition_list_item):
        *terms, definition = item.deepcopy().children
        for link in list(definition.findall(nodes.reference)):
            link.replace_self(link.children)
        html = "".join(builder.render_partial(part)["fragment"] for part in _without_first_use(definition.children))
        for term in terms:
            title = f"<strong>{escape(term.astext())}</strong>"
            rendered |= dict.fromkeys(term["ids"], f"{title}\n{html}")
    return rendered


def _without_first_use(parts: Iterable[nodes.Node]) -> list[nodes.Node]:
    return [part for part in parts if not (isinstance(part, nodes.Element) and FIRST_USE in part["classes"])]


def _is_term(reference: nodes.reference) -> bool:
    return any("std-term" in inner["classes"] for inner in reference.findall(nodes.inline))


def _fragment(reference: nodes.reference) -> str:
    return reference.get("refid") or reference["refuri"].partition("#")[2]


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", store_uses)
    app.connect("env-updated", check_glossary)
    app.connect("doctree-resolved", add_first_uses)
    app.connect("html-page-context", Definitions().add_to_page)
