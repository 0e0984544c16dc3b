"""Sphinx extension: a term's definition beside the term, by mouse, keyboard or finger, without leaving the page.

Terms are Sphinx's own: `{glossary}` on one page of the book, `{term}` on the others. Each page carries the definitions
of the terms it uses, since nothing can be fetched by a page that was opened from a disk. Without JavaScript a term is a
link to the glossary.
"""

from html import escape

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.util import logging

PAGE = "chapters/glossary"
FIRST_USE = "first-use"

logger = logging.getLogger(__name__)


def note_uses(app, doctree):
    """Remember which terms a page uses, and in which section; it is made again when the glossary has changed."""
    uses = {}
    for reference in doctree.findall(pending_xref):
        if reference["reftype"] == "term" and app.env.docname != PAGE:
            uses.setdefault(reference["reftarget"].lower(), _section(reference))
    if uses:
        app.env.metadata[app.env.docname]["terms"] = uses
        app.env.note_dependency(app.env.doc2path(PAGE))


def first_uses(env):
    """Term, in lower case -> the page and the section's id and title of its first use, in the order of the book."""
    first = {}
    for docname in env.collect_relations():
        for term, section in env.metadata[docname].get("terms", {}).items():
            first.setdefault(term, (docname, *section))
    return first


def check_glossary(app, env):
    """Refuse formulas in it, and have it written again when a term is first used elsewhere than it was."""
    if PAGE not in env.found_docs:
        return []
    # A definition is also shown on pages that have not loaded MathJax.
    for definition in env.get_doctree(PAGE).findall(nodes.definition):
        if any(definition.findall(nodes.math)) or any(definition.findall(nodes.math_block)):
            logger.warning("a formula in a definition; say it in words", location=definition, type="glossary")
    known = getattr(env, "glossary_first_uses", None)
    env.glossary_first_uses = first_uses(env)
    return [PAGE] if env.glossary_first_uses != known else []


def say_first_uses(app, doctree, docname):
    """Below each definition of the glossary, a link to where the term is first used."""
    if docname != PAGE:
        return
    for item in doctree.findall(nodes.definition_list_item):
        *terms, definition = item.children
        for term in terms:
            if found := app.env.glossary_first_uses.get(term.astext().lower()):
                definition += _first_use(app, *found)


def _first_use(app, page, section, title):
    numbers = app.env.toc_secnumbers.get(page, {})
    number = numbers.get(f"#{section}", numbers.get("", ()))  # Sphinx keeps that of a page itself under no name
    link = nodes.reference("", f"{'.'.join(map(str, number))} {title}".strip(), internal=True)
    link["refuri"] = f"{app.builder.get_relative_uri(PAGE, page)}#{section}"
    return nodes.paragraph("", "First used in ", link, nodes.Text("."), classes=[FIRST_USE])


def _section(node):
    """Id and title of the section that a node stands in; an exercise is a section too, without a title."""
    while not (isinstance(node, nodes.section) and isinstance(node[0], nodes.title)):
        node = node.parent
    return node["ids"][0], node[0].astext()


def add_definitions(app, pagename, templatename, context, doctree):
    """Append the definitions of the page's terms, hidden, each under the id that its link ends in.

    A book that is embedded in a reader's own program runs no script which could show them: there the links must do.
    """
    if doctree is None or pagename == PAGE or app.builder.embedded:
        return
    wanted = [_fragment(reference) for reference in doctree.findall(nodes.reference) if _is_term(reference)]
    if not wanted:
        return
    known = definitions(app)
    boxes = [
        f'<div class="term-definition" role="tooltip" id="definition-{name}">{known[name]}</div>\n'
        for name in dict.fromkeys(wanted)
    ]
    context["body"] += f'<div class="term-definitions" hidden>\n{"".join(boxes)}</div>\n'
    app.add_css_file("glossary.css")
    app.add_js_file("glossary.js", loading_method="defer")


def definitions(app):
    """HTML of each definition by the id of its term, made once a build; links in it become their text."""
    if not hasattr(app, "glossary_definitions"):
        app.glossary_definitions = {}
        for item in app.env.get_and_resolve_doctree(PAGE, app.builder).findall(nodes.definition_list_item):
            *terms, definition = item.deepcopy().children
            for link in list(definition.findall(nodes.reference)):
                link.replace_self(link.children)
            said = [part for part in definition if FIRST_USE not in part["classes"]]
            html = "".join(app.builder.render_partial(part)["fragment"] for part in said)
            for term in terms:
                title = f"<strong>{escape(term.astext())}</strong>"
                app.glossary_definitions |= dict.fromkeys(term["ids"], f"{title}\n{html}")
    return app.glossary_definitions


def _is_term(reference):
    return any("std-term" in inner["classes"] for inner in reference.findall(nodes.inline))


def _fragment(reference):
    return reference.get("refid") or reference["refuri"].partition("#")[2]


def setup(app):
    app.connect("doctree-read", note_uses)
    app.connect("env-updated", check_glossary)
    app.connect("doctree-resolved", say_first_uses)
    app.connect("html-page-context", add_definitions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
