"""The same attacks work against stock nbgrader, so they are real.

These notebooks run with the rights of this process, so no attack that floods, forks or breaks a process runs here.
"""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook

from tests.attacks.conftest import canary
from tests.attacks.dressing import tags_its_tests_as_skipped
from tests.attacks.forging import FORGING
from tests.attacks.snooping import NOTHING, SNOOPING

pytestmark = [
    pytest.mark.attacks,
    pytest.mark.thorough("what stock nbgrader does, which only another version of it changes"),
]

SOLUTION = """\
import numpy as np

def softmax(scores):
    ### BEGIN SOLUTION
    return np.exp(scores) / np.exp(scores).sum()
    ### END SOLUTION
"""
TEST = """\
x = np.array([1.0, 2.0, 3.0])
expected = np.array([0.09003057, 0.24472847, 0.66524096])
assert np.allclose(softmax(x), expected)
"""
WRONG = "import numpy as np\n\ndef softmax(scores):\n    return scores\n"
MARKS = {attack.what: attack for attack in (*FORGING, *SNOOPING) if attack.stock}


def about(grade_id, **more):
    metadata = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3}
    return {"nbgrader": metadata | {"grade_id": grade_id} | more}


def assignment():
    notebook = new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    notebook.cells = [
        new_code_cell(SOLUTION, metadata=about("softmax", solution=True)),
        new_code_cell(TEST, metadata=about("test-softmax", grade=True, locked=True, points=4)),
        new_markdown_cell("What did you see?", metadata=about("words")),
    ]
    return json.loads(json.dumps(notebook))


def nbgrader(course, *arguments):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "nbgrader", *arguments, f"--course-dir={course}"]
    environment = os.environ | {"PATH": path, "PYTHONWARNINGS": "ignore"}
    process = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


@pytest.fixture(scope="module")
def stock(tmp_path_factory):
    """A course, and student -> score, after stock nbgrader graded a class of attackers."""
    course = tmp_path_factory.mktemp("stock")
    hand_in(course / "source" / "ps1", assignment())
    nbgrader(course, "generate_assignment", "ps1")
    released = json.loads((course / "release/ps1/ps1.ipynb").read_text())
    (course / "secret_seed").write_text(canary("seed"))
    sources = {"skipped": WRONG}
    for what, attack in MARKS.items():
        mine = attack.source.replace("{course}", str(course))
        sources[what.replace(" ", "-")] = (
            f"import numpy as np\n{mine}\ndef softmax(scores):\n    return attempt(scores)\n"
        )
    for student, source in sources.items():
        notebook = copy.deepcopy(released)
        notebook["cells"][0]["source"] = source
        if student == "skipped":
            tags_its_tests_as_skipped(notebook)
        hand_in(course / "submitted" / student / "ps1", notebook)
    os.environ["SECRET_OF_THE_GRADER"] = canary("environment")
    nbgrader(course, "autograde", "ps1")
    del os.environ["SECRET_OF_THE_GRADER"]
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return course, {
            submission.student.id: submission.score for submission in gradebook.assignment_submissions("ps1")
        }


def hand_in(folder, notebook):
    folder.mkdir(parents=True)
    (folder / "ps1.ipynb").write_text(json.dumps(notebook))


@pytest.mark.parametrize("what", [attack.what for attack in FORGING if attack.stock])
def test_forging_gets_full_marks_from_stock_nbgrader(stock, what):
    assert stock[1][what.replace(" ", "-")] == 4


def test_a_tag_gets_full_marks_from_stock_nbgrader(stock):
    assert stock[1]["skipped"] == 4


@pytest.mark.parametrize(
    "what", ["runs the solution in the folder next to it", "writes its own score into the gradebook"]
)
def test_reading_and_writing_files_get_full_marks_from_stock_nbgrader(stock, what):
    assert stock[1][what.replace(" ", "-")] == 4


@pytest.mark.parametrize(
    ("what", "canary"),
    [
        ("reads the seed, the gradebook, the sources and other submissions", "CANARY-seed"),
        ("reads environments and command lines, also of its parents", "CANARY-environment"),
    ],
)
def test_stock_nbgrader_lets_secrets_be_read(stock, what, canary):
    course, scores = stock
    assert scores[what.replace(" ", "-")] == 0, "an attack that only reports what it read solves nothing"
    text = (course / "autograded" / what.replace(" ", "-") / "ps1/ps1.ipynb").read_text()
    assert canary in text and NOTHING not in text
