"""Sphinx extension: derivations and cells that stay folded until the reader's answer to an exercise passes.

    :::{derivation} rms_norm_backward
    The chain rule gives ...
    :::

is a fold. The page's script opens it when the check of `rms_norm_backward` passes, and the reader can open it earlier.
A code cell that the page folds (`hide-input`, `hide-cell`) opens in the same way if its metadata has the entry
`opens_with: rms_norm_backward`.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx_design.dropdown import DropdownDirective


def class_for(exercise: str) -> str:
    """Return the class of the parts of a page that open when an exercise passes."""
    return f"opens-with-{nodes.make_id(exercise)}"


class Derivation(DropdownDirective):
    """`{derivation}` with the name of an exercise, and a body: a dropdown that names the exercise."""

    required_arguments = 1
    optional_arguments = 0
    option_spec: dict[str, object] = {}

    def run_with_defaults(self) -> list[nodes.Node]:
        exercise = self.arguments[0]
        self.arguments = [f"The derivation. It opens when your `{exercise}` passes, or open it now."]
        self.options = {"class-container": ["derivation", class_for(exercise)]}
        return super().run_with_defaults()


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Give the folded cells that wait for an exercise its class, and a line that says what they wait for."""
    for cell in doctree.findall(nodes.container):
        if exercise := cell.get("cell_metadata", {}).get("opens_with"):
            cell["classes"].append(class_for(exercise))
            cell["prompt_show"] = f"This cell has the answer. It opens when your {exercise} passes, or open it now."


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_directive("derivation", Derivation)
    app.connect("doctree-read", mark_cells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
