"""An attack, and the notebook that hands it in."""

import copy
import json
from dataclasses import dataclass

# The notebook of an attack solves the first exercise honestly. The attack tries to get the points of all others.
HONEST = "softmax"
HONEST_POINTS = 4.0


@dataclass(frozen=True)
class Attack:
    """A cell that tries to get points without solving an exercise.

    what: what it does, in a few words for an instructor.
    source: the cell. It defines `attempt`, which every exercise but the first calls.
    words: words that the report must contain.
    stock: whether it gets full marks from stock nbgrader.
    endless: whether only the limit of processor time stops it. waits: whether only the wall clock stops it.
    """

    what: str
    source: str
    words: str = ""
    stock: bool = False
    endless: bool = False
    waits: bool = False


def notebook(attack: Attack, perfect: dict, **names: str) -> dict:
    """Return the notebook that hands in an attack.

    perfect: a solved notebook. names: the values for names in braces in the source, such as `{course}`.
    """
    submission = copy.deepcopy(perfect)
    source = attack.source
    for name, text in names.items():
        source = source.replace(f"{{{name}}}", text)
    for cell in submission["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["solution"] and cell["cell_type"] == "code" and about["grade_id"] != HONEST:
            cell["source"] = f"def {about['grade_id']}(*args, **kwargs):\n    return attempt(*args, **kwargs)"
    setup = next(i for i, cell in enumerate(submission["cells"]) if cell["id"] == "setup")
    submission["cells"].insert(setup + 1, own_cell("code", source))
    return submission


def own_cell(kind: str, source: str, **more) -> dict:
    """Return a cell that the student added."""
    outputs = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **outputs, **more}


def dump(submission: dict) -> bytes:
    """Return the bytes of a notebook's file."""
    return json.dumps(submission).encode()
