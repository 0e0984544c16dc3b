"""Cells that a tool has stripped of their metadata and ids count as the released cells that they were."""

import copy
import json
import random

import pytest

from autograder.course.handout import load_handout
from autograder.grading import reading
from autograder.grading.submitted_file import File
from tests.choosing import thinned

pytestmark = pytest.mark.grading


@pytest.fixture(scope="module")
def released(released_course):
    return load_handout(released_course, "01_attention")


def read(content, released):
    return reading.read_submission(File(json.dumps(content).encode()), released)


def stripped(notebook, share=1.0, seed=0):
    """Return a notebook in which a share of the cells keeps nothing but kind and source. All ids are new."""
    rng, bare = random.Random(seed), copy.deepcopy(notebook)
    for number, cell in enumerate(bare["cells"]):
        cell["id"] = f"new-{number}"
        if rng.random() < share:
            cell["metadata"] = {}
            cell["source"] = "".join(cell["source"]) + "\n"
    return bare


def index_of(notebook, source):
    return next(i for i, cell in enumerate(notebook["cells"]) if source in "".join(cell["source"]))


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("seed", thinned(range(5), [0], "more cells"))
def test_stripped_cells_are_recognised(perfect, released, share, seed):
    whole, bare = read(perfect, released), read(stripped(perfect, share, seed), released)
    assert {name: source.strip() for name, source in bare.answers.items()} == {
        name: source.strip() for name, source in whole.answers.items()
    }
    assert (bare.own, bare.checked, bare.trouble) == ((), whole.checked, "")
    assert bare.notes == (reading.LOST_METADATA,)


def test_a_stripped_stub_is_the_stub(contents, released):
    blank = json.loads(contents["blank"])
    bare = read(stripped(blank), released)
    assert {name: source.strip() for name, source in bare.answers.items()} == {
        name: released.stub(name).strip() for name in released.functions
    }
    assert bare.notes == (reading.LOST_METADATA,)


def test_own_cells_of_a_stripped_notebook_stay_own(perfect, released):
    bare = stripped(perfect)
    bare["cells"].insert(3, {"cell_type": "code", "source": "x = 1", "metadata": {}, "id": "x", "outputs": []})
    naive = {"cell_type": "code", "source": "def softmax(x): return 1", "metadata": {}, "id": "y", "outputs": []}
    bare["cells"].insert(index_of(bare, "check(softmax)") + 1, naive)
    submission = read(bare, released)
    assert [cell.source for cell in submission.own] == ["x = 1", "def softmax(x): return 1"]
    assert "return 1" not in submission.answers["softmax"]


def test_without_its_check_the_first_cell_that_defines_an_exercise_is_the_exercise(perfect, released):
    bare = stripped(perfect)
    del bare["cells"][index_of(bare, "check(softmax)")]
    again = {"cell_type": "code", "source": "def softmax(x): return 1", "metadata": {}, "id": "y", "outputs": []}
    bare["cells"].append(again)
    submission = read(bare, released)
    assert "return 1" not in submission.answers["softmax"]
    assert [cell.source for cell in submission.own] == ["def softmax(x): return 1"]


def test_a_notebook_with_its_metadata_has_no_note_about_it(perfect, released):
    more = copy.deepcopy(perfect)
    more["cells"].append({"cell_type": "code", "source": "x = 1", "metadata": {}, "id": "x", "outputs": []})
    assert read(more, released).notes == ()


def test_a_text_for_instructors_is_the_cell_behind_its_task(released_course):
    from autograder.grading.recognising import Text, recognised

    released = load_handout(released_course, "01_attention")
    task = next(i for i in range(len(released.cells)) if released.kind(i) == "markdown")
    report = copy.deepcopy(released.notebook)
    about = {"grade_id": "report", "solution": True, "grade": True, "points": 3}
    cell = {"cell_type": "markdown", "id": "report", "metadata": {"nbgrader": about}, "source": "Write here."}
    report["cells"].insert(task + 1, cell)
    with_text = type(released)(released.chapter, report)
    cells = [Text(with_text.kind(i), with_text.source(i), None) for i in range(len(report["cells"]))]
    cells[task + 1] = Text("markdown", "My report.", None)
    assert recognised(cells, with_text)[task + 1] == task + 1
