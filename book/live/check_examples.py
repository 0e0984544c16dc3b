"""Show below each check its feedback on a common mistake and on a right solution, in two tabs."""

import tempfile
from pathlib import Path

from docutils import nodes
from sphinx_design.shared import create_component

from autograder.authoring.exercise import Exercise
from check import key
from check.checking import Checked, tried

EXAMPLES = "live-examples"  # class of the tabs
COMMON_MISTAKE, RIGHT = "Example: a common mistake", "Example: a right solution"


def add_examples(cell: nodes.container, exercise: Exercise, files: dict[str, bytes]) -> None:
    """Put the tabs in place of the output of the book's own run, which checked the stub.

    Args:
        cell: the cell that checks an exercise.
        exercise: the exercise.
        files: path -> content of its chapter's bundle, with its key.
    """
    for output in [node for node in cell if isinstance(node, nodes.Element) and "cell_output" in node.get("classes")]:
        cell.remove(output)
    its_key = _key(files, exercise.name)
    tabs = create_component("tab-set", classes=["sd-tab-set", EXAMPLES])
    if mistake := _common_mistake(exercise, its_key):
        tabs += _tab(COMMON_MISTAKE, mistake)
    tabs += _tab(RIGHT, tried(exercise.reference, its_key))
    cell.insert(len(cell), tabs)


def _common_mistake(exercise: Exercise, its_key: key.Key) -> Checked | None:
    """Return the feedback on the exercise's first known mistake that the check names, if there is one."""
    for mistake, function in exercise.mistakes.values():
        checked = tried(function, its_key)
        if checked.result.mistake == mistake:
            return checked
    return None


def _tab(title: str, checked: Checked) -> nodes.container:
    label = nodes.rubric(title, title, classes=["sd-tab-label"])
    content = create_component("tab-content", classes=["sd-tab-content"])
    content += nodes.raw("", f'<div class="output text_html">{checked.html}</div>', format="html")
    tab = create_component("tab-item", classes=["sd-tab-item"], selected=False)
    tab += [label, content]
    return tab


def _key(files: dict[str, bytes], name: str) -> key.Key:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "key.npz")
        file.write_bytes(files[f"check/keys/{name}.npz"])
        return key.load(file)
