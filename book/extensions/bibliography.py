"""Sphinx extension: label and sort the bibliography as the text cites it, and mark it up as a list.

sphinxcontrib-bibtex would label works in the style of LaTeX's alpha, [VSP+17], sort them by these labels, and cite two
works of the same authors and year alike. Docutils would mark up each work with a role that browsers no longer allow in
a list, so that a screen reader would announce a list without items.
"""

import unicodedata
from collections.abc import Iterable
from typing import cast

from docutils import nodes
from pybtex.database import Entry
from pybtex.plugin import find_plugin, register_plugin
from pybtex.style.formatting.unsrt import Style as UnsrtStyle
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting import BaseSortingStyle
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator
from sphinxcontrib.bibtex.domain import BibtexDomain

from autograder.chapter.targets import add_year_letters, citation
from book.extensions.page_files import add_files

NAME = "as_cited"  # the style's name for bibtex_default_style


class AsCited(BaseLabelStyle):
    """Labels such as "Vaswani et al., 2017"."""

    def format_labels(self, sorted_entries: Iterable[Entry]) -> list[str]:
        return [label(entry) for entry in sorted_entries]


class ByLabel(BaseSortingStyle):
    """The order of the labels, without regard to accents and capitals."""

    def sorting_key(self, entry: Entry) -> str:
        letters = unicodedata.normalize("NFD", label(entry).casefold())
        return "".join(letter for letter in letters if not unicodedata.combining(letter))


class Style(UnsrtStyle):
    default_label_style = AsCited
    default_sorting_style = ByLabel


def label(entry: Entry) -> str:
    """Return the text of a citation of the work."""
    return ", ".join(citation(entry))


def distinguish_works(app: Sphinx) -> None:
    """Add letters to the years of works that the text would cite alike.

    This runs after sphinxcontrib-bibtex has read the works, or found them unchanged, and before Sphinx reads any page.
    """
    add_year_letters(cast(BibtexDomain, app.env.get_domain("cite")).bibdata.data)


def visit_citation(writer: HTML5Translator, node: nodes.citation) -> None:
    if not isinstance(node.previous_sibling(), nodes.citation):
        writer.body.append('<ul class="works">\n')
    writer.body.append(writer.starttag(node, "li"))


def depart_citation(writer: HTML5Translator, node: nodes.citation) -> None:
    writer.body.append("</li>\n")
    if not isinstance(node.next_node(descend=False, siblings=True), nodes.citation):
        writer.body.append("</ul>\n")


def setup(app: Sphinx) -> None:
    register_plugin("pybtex.style.formatting", NAME, Style)
    for backend in ("docutils", "plaintext"):  # otherwise each citation searches the metadata of all installed packages
        register_plugin("pybtex.backends", backend, find_plugin("pybtex.backends", backend), force=True)
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
    app.connect("builder-inited", distinguish_works, priority=600)
    add_files(app, "bibliography.css", where=lambda page, doctree: any(doctree.findall(nodes.citation)))
