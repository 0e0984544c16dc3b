"""Sphinx extension: a formula keeps its comma, and its opening bracket, on its own line.

Browsers may break a line before and after any formula, whatever stands there.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

OPENING = re.compile(r"[(\[“‘]+$")
CLOSING = re.compile(r"^[)\]”’.,;:!?]+")


class KeepPunctuation(SphinxPostTransform):
    """Put each formula and the punctuation that touches it into one span of class "unbroken"."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs):
        for formula in list(self.document.findall(nodes.math)):
            before = _take(formula, -1, OPENING)
            after = _take(formula, 1, CLOSING)
            if before or after:
                span = nodes.inline(classes=["unbroken"])
                formula.replace_self(span)
                span += [nodes.Text(before), formula, nodes.Text(after)]


def _take(formula, step, punctuation):
    """Cut the punctuation off the text on one side of a formula, and return it."""
    siblings = formula.parent.children
    at = siblings.index(formula) + step
    if not 0 <= at < len(siblings) or not isinstance(siblings[at], nodes.Text):
        return ""
    found = punctuation.search(siblings[at])
    if not found:
        return ""
    formula.parent[at] = nodes.Text(punctuation.sub("", siblings[at]))  # by its place: another text may be equal
    return found[0]


def setup(app):
    app.add_post_transform(KeepPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
