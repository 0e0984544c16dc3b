"""Sphinx extension: derivations and cells that stay folded until the reader's answer to an exercise passes.

    :::{derivation} rms_norm_backward
    The chain rule gives ...
    :::

is a fold. The page's script opens it when the check of `rms_norm_backward` passes, and the reader can open it earlier.
A code cell that the page folds (`hide-input`, `hide-cell`) opens in the same way if its metadata has the entry
`opens_with: rms_norm_backward`. The build warns about a name that no check on the page has.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_design.dropdown import DropdownDirective

from autograder.layout import exercises_checked_in
from check.words import listed

logger = logging.getLogger(__name__)


def class_for(exercise: str) -> str:
    """Return the class of the parts of a page that open when an exercise passes."""
    return f"opens-with-{nodes.make_id(exercise)}"


class Derivation(DropdownDirective):
    """`{derivation}`: the name of an exercise, and a body. It becomes a dropdown that names the exercise."""

    required_arguments = 1
    optional_arguments = 0
    option_spec: dict[str, object] = {}

    def run_with_defaults(self) -> list[nodes.Node]:
        exercise = self.arguments[0]
        self.arguments = [f"The derivation. It opens when your `{exercise}` passes. You can also open it now."]
        self.options = {"class-container": ["derivation", class_for(exercise)]}
        (fold,) = super().run_with_defaults()
        fold["opens_with"] = exercise
        return [fold]


def warn_of_unknown_names(app: Sphinx, doctree: nodes.document) -> None:
    """Warn about each derivation or cell that waits for an exercise that its page does not check."""
    folds = [(fold, name) for fold in doctree.findall(nodes.container) if (name := opens_with(fold))]
    if not folds:
        return
    known = exercises_checked_in(Path(app.env.doc2path(app.env.docname)).read_text(encoding="utf-8"))
    for fold, name in folds:
        if name not in known:
            logger.warning(
                "a fold waits for the exercise %r, which this page does not check, so it would never open. %s",
                name,
                f"The page checks {listed(known)}." if known else "The page checks no exercise.",
                location=fold,
                type="derivations",
            )


def opens_with(fold: nodes.Element) -> str:
    """Return the name of the exercise that a derivation or a cell waits for, or ""."""
    return fold.get("opens_with") or fold.get("cell_metadata", {}).get("opens_with", "")


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Give each folded cell that waits for an exercise the exercise's class, and a line that names the exercise."""
    for cell in doctree.findall(nodes.container):
        if exercise := cell.get("cell_metadata", {}).get("opens_with"):
            cell["classes"].append(class_for(exercise))
            cell["prompt_show"] = (
                f"This cell has the answer. It opens when your {exercise} passes. You can also open it now."
            )


def setup(app: Sphinx) -> None:
    app.add_directive("derivation", Derivation)
    app.connect("doctree-read", mark_cells)
    app.connect("doctree-read", warn_of_unknown_names)
