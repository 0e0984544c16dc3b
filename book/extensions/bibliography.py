"""Sphinx extension: the bibliography is labelled as the text cites, sorted by those labels, and a list to read aloud.

sphinxcontrib-bibtex labels works as LaTeX's alpha style does, [VSP+17], in its order, and cites two works of the same
authors and year alike. Docutils marks each work with a role that browsers no longer let stand in a list, and so a
screen reader would be told of a list without items.
"""

import unicodedata

from docutils import nodes
from pybtex.plugin import find_plugin, register_plugin
from pybtex.style.formatting.unsrt import Style as UnsrtStyle
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting import BaseSortingStyle

from autograder.chapter.works import cited, tell_apart

NAME = "as_cited"  # for bibtex_default_style


class AsCited(BaseLabelStyle):
    """Vaswani et al., 2017."""

    def format_labels(self, sorted_entries):
        return [label(entry) for entry in sorted_entries]


class ByLabel(BaseSortingStyle):
    """In the order of the labels, whatever the accents and capitals."""

    def sorting_key(self, entry):
        letters = unicodedata.normalize("NFD", label(entry).casefold())
        return "".join(letter for letter in letters if not unicodedata.combining(letter))


class Style(UnsrtStyle):
    default_label_style = AsCited
    default_sorting_style = ByLabel


def label(entry):
    """What a citation of the work says."""
    return ", ".join(cited(entry))


def tell_works_apart(app):
    """After sphinxcontrib-bibtex has read them, or found them unchanged, and before any page is read."""
    tell_apart(app.env.get_domain("cite").bibdata.data)


def visit_citation(writer, node):
    if not isinstance(node.previous_sibling(), nodes.citation):
        writer.body.append('<ul class="works">\n')
    writer.body.append(writer.starttag(node, "li"))


def depart_citation(writer, node):
    writer.body.append("</li>\n")
    if not isinstance(node.next_node(descend=False, siblings=True), nodes.citation):
        writer.body.append("</ul>\n")


def load_style(app, pagename, templatename, context, doctree):
    """Only a page with works under their labels needs it."""
    if doctree is not None and any(doctree.findall(nodes.citation)):
        app.add_css_file("bibliography.css")


def setup(app):
    register_plugin("pybtex.style.formatting", NAME, Style)
    for backend in ("docutils", "plaintext"):  # or each citation looks for it in the metadata of all that is installed
        register_plugin("pybtex.backends", backend, find_plugin("pybtex.backends", backend), force=True)
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
    app.connect("builder-inited", tell_works_apart, priority=600)
    app.connect("html-page-context", load_style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
