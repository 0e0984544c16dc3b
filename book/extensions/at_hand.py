"""Sphinx extension: above an exercise's hints, a line with the signatures of the earlier functions that it calls.

`autograder/release/at_hand.py` reads the line from the reference solution, and the notebook has it, too.
"""

import re
from pathlib import PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx

from autograder.chapter.chapter import definition_in, read_chapter
from autograder.layout import chapter_names
from autograder.release.at_hand import line


def add_lines(app: Sphinx, doctree: nodes.document) -> None:
    """Add the line to each exercise of a chapter that calls earlier functions."""
    name = PurePosixPath(app.env.docname).name
    stubs = [cell for cell in doctree.findall(nodes.container) if _is_stub(cell)]
    if name not in chapter_names() or not stubs:
        return
    chapter = read_chapter(name)
    exercises = {exercise.name: exercise for exercise in chapter.exercises}
    for stub in stubs:
        source = next(iter(stub.findall(nodes.literal_block))).astext()
        text = line(exercises[definition_in(source).name], chapter)
        if text:
            _above_hints(stub, _paragraph(text))


def _is_stub(cell: nodes.container) -> bool:
    return "exercise" in cell.get("cell_metadata", {}).get("tags", ())


def _above_hints(stub: nodes.container, paragraph: nodes.paragraph) -> None:
    """Insert a paragraph above the folds before a stub. The page's script finds the hints directly above the stub."""
    siblings = stub.parent.children
    place = siblings.index(stub)
    while place > 0 and siblings[place - 1].get("design_component") == "dropdown":
        place -= 1
    stub.parent.insert(place, paragraph)


def _paragraph(markdown: str) -> nodes.paragraph:
    """Return a paragraph of text with `code` in it."""
    paragraph = nodes.paragraph(classes=["at-hand"])
    for i, part in enumerate(re.split("`", markdown)):
        paragraph += nodes.literal(text=part) if i % 2 else nodes.Text(part)
    return paragraph


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", add_lines)
