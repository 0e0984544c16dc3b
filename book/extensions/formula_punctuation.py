"""Sphinx extension: keep a formula on one line with the punctuation that touches it.

A browser may break the line before or after any formula, even between the formula and its comma.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.typing import ExtensionMetadata

OPENING = re.compile(r"[(\[“‘]+$")
CLOSING = re.compile(r"^[)\]”’.,;:!?]+")


class KeepPunctuation(SphinxPostTransform):
    """Put each formula and the punctuation that touches it into one span of class "unbroken"."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for formula in list(self.document.findall(nodes.math)):
            before = _cut_punctuation(formula, -1, OPENING)
            after = _cut_punctuation(formula, 1, CLOSING)
            if before or after:
                span = nodes.inline(classes=["unbroken"])
                formula.replace_self(span)
                span += [nodes.Text(before), formula, nodes.Text(after)]


def _cut_punctuation(formula: nodes.math, step: int, punctuation: re.Pattern[str]) -> str:
    """Cut the punctuation off the text beside a formula, and return it.

    step: -1 for the text before the formula, 1 for the text after it.
    """
    siblings = formula.parent.children
    index = siblings.index(formula) + step
    if not 0 <= index < len(siblings) or not isinstance(siblings[index], nodes.Text):
        return ""
    match = punctuation.search(siblings[index])
    if not match:
        return ""
    # Replace the text by its index, because another text may be equal to it.
    formula.parent[index] = nodes.Text(punctuation.sub("", siblings[index]))
    return match[0]


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_post_transform(KeepPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
