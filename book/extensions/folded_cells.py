"""Sphinx extension: the line of a folded cell says what the cell contains, and shrinks if the cell shows nothing.

MyST-NB writes "Show code cell source" on every folded cell. Half of them print nothing, because they assert what the
text above derived. Such a cell becomes a tick in small print. If it also defines functions, its line says so, because
readers need them to follow the cells below.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

FIGURE = "Code for this figure"
OUTPUT = "Code for this output"
PROOF = "✓ Checked in code"
PROOF_USED = "✓ Checked in code, and used below"
DEFINITIONS = "Code for the cells below"


def name_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Name each folded cell, except the cells that wait for an exercise: `derivations` names those."""
    for cell in doctree.findall(nodes.container):
        if cell.get("hide_mode") not in ("input", "all") or "opens_with" in cell.get("cell_metadata", {}):
            continue
        cell["prompt_show"] = what_it_contains(cell)
        cell["prompt_hide"] = "Hide the code"
        if cell["prompt_show"] in (PROOF, PROOF_USED, DEFINITIONS):
            cell["classes"].append("shows-nothing")


def what_it_contains(cell: nodes.Element) -> str:
    """Return a few words about a folded cell: its figure, its output, its assertions or its definitions."""
    if "figure" in cell.get("cell_metadata", {}).get("mystnb", {}):
        return FIGURE
    if any(part.get("nb_element") == "cell_code_output" for part in cell.children):
        return OUTPUT
    if not re.search(r"^\s*assert\b", cell.astext(), re.MULTILINE):
        return DEFINITIONS
    return PROOF_USED if re.search(r"^def\b", cell.astext(), re.MULTILINE) else PROOF


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", name_cells)
