"""Sphinx extension: on a page without a chapter number, number figures, tables, equations and listings from one.

Sphinx continues its count across all such pages, so that the first figure of a page can be figure 4.
"""

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.typing import ExtensionMetadata


def renumber_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Renumber in their order the items whose number has one part, such as 3, and not 2.3."""
    for kinds in env.toc_fignumbers.values():
        for numbers in kinds.values():
            in_order = sorted((number, label) for label, number in numbers.items() if len(number) == 1)
            numbers.update((label, (place,)) for place, (_, label) in enumerate(in_order, start=1))
    return []


def setup(app: Sphinx) -> ExtensionMetadata:
    app.connect("env-get-updated", renumber_pages, priority=900)  # after Sphinx has numbered them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
