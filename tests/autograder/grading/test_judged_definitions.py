"""What a student's check cell saw is judged, whatever the cells below it do with the name."""

import copy
import io
import shutil
import zipfile

import pytest

from autograder.gradebook.rebuilding import rebuild
from autograder.grading.assignment import open_assignment, seeds_of
from autograder.grading.cells_to_run import judged_in_another_cell
from autograder.grading.grade import grade_submission
from autograder.grading.reading import read_submission
from autograder.grading.submitted_file import File
from tests.autograder.grading.test_bad_input import cell, dump
from tests.conftest import CHAPTER
from tests.patience import PATIENT

pytestmark = pytest.mark.grading
NAIVE = "def softmax(scores):\n    exps = np.exp(scores)\n    return exps / exps.sum(axis=-1, keepdims=True)"
RIGHT = """\
def softmax(scores):
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)"""
WITH_HELPER = "def stable(x):\n    return {}\n" + RIGHT.replace(
    "scores - scores.max(axis=-1, keepdims=True)", "stable(scores)"
)
NOTE = "`softmax` is judged as the cell {} defines it"


@pytest.fixture(scope="module")
def assignment(released_course, tmp_path_factory):
    return open_assignment(
        shutil.copytree(released_course, tmp_path_factory.mktemp("judged") / "course"), CHAPTER, 2**100
    )


@pytest.fixture(scope="module")
def folders(assignment, tmp_path_factory):
    unpacked = []
    for archive in (assignment.bundle, assignment.solutions):
        unpacked.append(tmp_path_factory.mktemp("unpacked"))
        zipfile.ZipFile(io.BytesIO(archive)).extractall(unpacked[-1])
    return unpacked


@pytest.fixture
def graded(assignment, folders, perfect):
    """graded(edit) -> the report of the perfect notebook after `edit(notebook)`, and its File."""

    def graded(edit):
        notebook = copy.deepcopy(perfect)
        edit(notebook)
        file = File(dump(notebook))
        seeds = seeds_of(file, assignment.released, 2**100)
        return grade_submission(file, seeds, assignment, *folders, PATIENT), file

    return graded


def own(source):
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": []}


def below(*sources, after="check-softmax", **cells):
    """Return an edit that adds a student's own cells below a released one, and replaces the sources of `cells`."""

    def edit(notebook):
        for name, source in cells.items():
            cell(notebook, name)["source"] = source
        at = notebook["cells"].index(cell(notebook, after)) + 1
        notebook["cells"][at:at] = map(own, sources)

    return edit


def without_check(edit):
    def edited(notebook):
        edit(notebook)
        notebook["cells"].remove(cell(notebook, "check-softmax"))

    return edited


def in_a_later_cell(notebook):
    last = [item for item in notebook["cells"] if item["metadata"].get("nbgrader", {}).get("solution")][-1]
    last["source"] = "".join([*last["source"], f"\n{NAIVE}"])


STUB = object()
RECURSIVE = RIGHT.replace(":\n", ":\n    if scores.ndim == 1:\n        return softmax(scores[None])[0]\n", 1)
DECORATED = f"import functools\ndef same(f):\n    return functools.wraps(f)(lambda scores: f(scores))\n@same\n{RIGHT}"


@pytest.mark.parametrize(
    ("edit", "judged"),
    {
        "the naive form below": (below(NAIVE), "softmax"),
        "another value below": (below("softmax = softmax(np.ones(3))"), "softmax"),
        "deleted below": (below("del softmax"), "softmax"),
        "in a later exercise's cell": (in_a_later_cell, "softmax"),
        "a right one between": (below(RIGHT, after="softmax", softmax=NAIVE), "1 of your own"),
        "recursive": (below(NAIVE, softmax=RECURSIVE), "softmax"),
        "decorated": (below(NAIVE, softmax=DECORATED), "softmax"),
        "a helper redefined": (
            below("def stable(x):\n    return x", softmax=WITH_HELPER.format("x - x.max(-1, keepdims=True)")),
            "softmax",
        ),
        "without its check": (without_check(below(NAIVE)), "softmax"),
        "without its check, checked below": (
            without_check(below(RIGHT, "check(softmax)", NAIVE, softmax=NAIVE)),
            "1 of your own",
        ),
        "an own check below": (below(f"{NAIVE}\ncheck(softmax)"), "softmax"),
        "the stub, and right below": (below(RIGHT, softmax=STUB), "1 of your own"),
        "the stub, right below, then tried": (
            below(RIGHT, "softmax = softmax(np.ones(3))", softmax=STUB),
            "1 of your own",
        ),
        "the stub, checked below, then naive": (
            below(RIGHT, "check(softmax)", NAIVE, softmax=STUB),
            "1 of your own",
        ),
        "commented stub": (below(RIGHT, softmax=("# later", STUB)), "1 of your own"),
    }.values(),
)
def test_the_function_that_the_check_saw_is_judged(graded, assignment, edit, judged):
    stub = assignment.released.stub("softmax")

    def with_stub(notebook):
        edit(notebook)
        softmax = cell(notebook, "softmax")
        if softmax["source"] is STUB:
            softmax["source"] = stub
        elif isinstance(softmax["source"], tuple):
            softmax["source"] = f"{softmax['source'][0]}\n{stub}"

    report, file = graded(with_stub)
    assert report.result("softmax").passed
    submission = read_submission(file, assignment.released)
    elsewhere = judged_in_another_cell(submission, assignment.released)
    assert ("softmax" in elsewhere) == (judged != "softmax")


def test_the_feedback_shows_the_cell_that_was_judged(graded, assignment):
    report, file = graded(below(RIGHT, softmax=assignment.released.stub("softmax")))
    rebuilt = rebuild(read_submission(file, assignment.released), report, assignment.released)
    shown = next(item for item in rebuilt.cells if item.metadata.get("nbgrader", {}).get("grade_id") == "softmax")
    assert shown.metadata["judged"] == RIGHT


def test_a_note_names_the_cell_that_does_not_count(graded):
    report, _ = graded(below(NAIVE))
    assert any(NOTE.format("softmax") in note and "the cell 1 of your own gives" in note for note in report.notes)


def test_other_exercises_call_what_their_own_checks_saw(graded):
    report, _ = graded(below(NAIVE, "softmax = softmax(np.ones(3))", after="what-is-left"))
    assert report.earned == report.points
    report, _ = graded(below("softmax = softmax(np.ones(3))"))  # above the other checks, which fail at home too
    assert [result.function for result in report.results if result.passed][0] == "softmax"
    assert not report.result("attention_weights").passed


def test_a_wrong_function_stays_wrong_whatever_is_below(graded):
    report, _ = graded(below(RIGHT, softmax=NAIVE))
    assert not report.result("softmax").passed


def test_each_exercise_gets_the_helper_that_its_check_saw(graded):
    def edit(notebook):
        softmax, weights = cell(notebook, "softmax"), cell(notebook, "attention_weights")
        softmax["source"] = WITH_HELPER.format("x - x.max(-1, keepdims=True)")
        weights["source"] = "def stable(x):\n    return 0 * x\n" + "".join(weights["source"])

    report, _ = graded(edit)
    assert report.result("softmax").passed
    assert not report.result("attention_weights").passed  # at home too, its softmax uses the second helper
