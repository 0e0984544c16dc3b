"""What an attack is, and the notebook it is handed in as."""

import copy
import json
from dataclasses import dataclass

# The attacks' notebooks solve the first exercise honestly, and attack for the points of all others.
HONEST = "softmax"
HONEST_POINTS = 4.0


@dataclass(frozen=True)
class Attack:
    """A cell that tries for marks it has not earned.

    what: in a few words, as an instructor reads it. source: the cell; it defines `attempt`, which stands for every
    exercise but the first. words: must be read in the report. stock: gets full marks from stock nbgrader. endless: only
    a time limit stops it.
    """

    what: str
    source: str
    words: str = ""
    stock: bool = False
    endless: bool = False


def notebook(attack: Attack, perfect: dict, **names: str) -> dict:
    """The attack as a submission. perfect: a solved notebook. names: replaced in the source, as in `{course}`."""
    handed_in = copy.deepcopy(perfect)
    source = attack.source
    for name, text in names.items():
        source = source.replace(f"{{{name}}}", text)
    for cell in handed_in["cells"]:
        about = cell["metadata"]["nbgrader"]
        if about["solution"] and cell["cell_type"] == "code" and about["grade_id"] != HONEST:
            cell["source"] = f"def {about['grade_id']}(*args, **kwargs):\n    return attempt(*args, **kwargs)"
    setup = next(i for i, cell in enumerate(handed_in["cells"]) if cell["id"] == "setup")
    handed_in["cells"].insert(setup + 1, own_cell("code", source))
    return handed_in


def own_cell(kind: str, source: str, **more) -> dict:
    """A cell of the student's own."""
    outputs = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **outputs, **more}


def dump(handed_in: dict) -> bytes:
    return json.dumps(handed_in).encode()
