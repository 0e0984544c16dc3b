"""Below each check, in tabs: what it says to a common wrong answer, and to a right one."""

import tempfile
from pathlib import Path

from docutils import nodes
from sphinx_design.shared import create_component

from check import key
from check.checking import tried

SAYS = "live-says"
TABS = "What a common wrong answer is told", "What a right one is told"


def tell(cell, exercise, files):
    """In place of what the book's own run printed, which seems to praise the stub.

    files: those of its chapter's bundle, with its key.
    """
    its_key = _key(files, exercise.name)
    for output in [node for node in cell if "cell_output" in node.get("classes", ())]:
        cell.remove(output)
    wrong = next(
        (
            found
            for mistake, function in exercise.mistakes.values()
            if (found := tried(function, its_key)).result.mistake == mistake
        ),
        None,
    )
    told = [wrong, tried(exercise.reference, its_key)]
    tabs = create_component("tab-set", classes=["sd-tab-set", SAYS])
    for label, found in zip(TABS, told, strict=True):
        if found:
            title = nodes.rubric(label, label, classes=["sd-tab-label"])
            content = create_component("tab-content", classes=["sd-tab-content"])
            content += nodes.raw("", f'<div class="output text_html">{found.html}</div>', format="html")
            tab = create_component("tab-item", classes=["sd-tab-item"], selected=False)
            tab += [title, content]
            tabs += tab
    cell.insert(len(cell), tabs)


def _key(files, name):
    path = f"check/keys/{name}.npz"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "key.npz").write_bytes(files[path])
        return key.load(Path(folder, "key.npz"))
