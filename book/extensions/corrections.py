"""Sphinx extension: correct two things in what Sphinx and sphinx-exercise write.

Sphinx continues its count of figures, tables, equations and listings across all pages without a chapter number, so that
the first figure of such a page can be figure 4. sphinx-exercise gives one id to the content of every exercise, although
an id may occur only once in a page. The exercise itself keeps its own.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

REPEATED = "exercise-content"


def renumber_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """On each page without a chapter number, count from one: an item's number has one part, such as 3, and not 2.3."""
    for kinds in env.toc_fignumbers.values():
        for numbers in kinds.values():
            in_order = sorted((number, label) for label, number in numbers.items() if len(number) == 1)
            numbers.update((label, (place,)) for place, (_, label) in enumerate(in_order, start=1))
    return []


def remove_repeated_ids(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for section in doctree.findall(nodes.section):
        if REPEATED in section["ids"]:
            section["ids"].remove(REPEATED)


def setup(app: Sphinx) -> None:
    app.connect("env-get-updated", renumber_pages, priority=900)  # after Sphinx has numbered them
    app.connect("doctree-resolved", remove_repeated_ids)  # by then Sphinx has read all ids
