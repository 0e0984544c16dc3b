"""A student opens a released notebook, solves part of it and runs all cells."""

import zipfile

import nbformat
import pytest
from nbconvert.preprocessors import ExecutePreprocessor
from nbgrader.validator import Validator

from tests.autograder.release.small_repo import CHAPTER, by_grade_id
from tests.student_bundle import ANSWERS, EXPECTED

pytestmark = [pytest.mark.release, pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")]


@pytest.fixture(scope="module")
def ran(released_course, tmp_path_factory):
    """Return the first chapter's cells after Run All, by grade id: one exercise right, one wrong, the others blank."""
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(released_course / "release" / f"{CHAPTER}.zip") as archive:
        archive.extractall(folder)
    notebook = nbformat.read(folder / f"{CHAPTER}.ipynb", 4)
    cells = by_grade_id(notebook)
    for name, answer in ANSWERS.items():
        cells[name].source = answer
    # Like Run All, this stops below a cell that raises, unless a tag of the cell allows it to raise.
    ExecutePreprocessor().preprocess(notebook, {"metadata": {"path": str(folder)}})
    return cells


def output_of(cell):
    """Return a cell's output as plain text, and the lines of its tracebacks."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    tracebacks = [output.traceback for output in cell.outputs if output.output_type == "error"]
    return "".join(texts).strip(), [line for traceback in tracebacks for line in "\n".join(traceback).split("\n")]


def test_run_all_reaches_the_end_and_shows_no_traceback(ran):
    code = {name: cell for name, cell in ran.items() if cell.cell_type == "code"}
    assert all(cell.execution_count for cell in code.values())
    errors = {name: lines for name, cell in code.items() if (lines := output_of(cell)[1])}
    assert errors == {
        "check-attention_weights": ["CheckFailed: attention_weights: 0 of 5 points."],
        "check-repaired_attention": ["CheckFailed: repaired_attention: 0 of 4 points."],
    }


def test_a_blank_exercise_is_one_line_and_a_wrong_one_is_explained(ran):
    assert output_of(ran["check-softmax"])[0].startswith("✓ softmax: all")
    assert output_of(ran["check-attention"])[0] == (
        "`attention` is not written yet. Read “From weights to output” first. "
        "If you need help, open the hints above its cell."
    )
    assert "Known mistake: does not scale the scores." in output_of(ran["check-attention_weights"])[0]


def test_the_script_that_tries_a_bundle_elsewhere_expects_what_is_shown(ran):
    for name, expected in EXPECTED.items():
        assert expected in output_of(ran[name])[0]


def test_a_given_cell_names_the_exercise_that_it_waits_for(ran):
    """Even if the cell fails because a name is missing, or because of a bug that is not fixed yet."""
    lines = [output_of(cell)[0].split("\n")[-1] for cell in ran.values() if cell.cell_type == "code"]
    waiting = [line for line in lines if "waits for" in line]
    assert len(waiting) > 8
    assert set(waiting) == {
        "This cell waits for `attention`, which is not written yet.",
        "This cell waits for `copies_predecessor`, which is not written yet.",
        "This cell waits for `attention_weights`, which does not pass its check yet.",
        "This cell waits for `repaired_attention`, which does not pass its check yet.",
    }
    pictures = [name for name, cell in ran.items() if "<svg" in str(cell.get("outputs"))]
    assert len(pictures) > 4, "a cell that needs only the right softmax shows its figure"


def test_the_last_cell_shows_what_is_left_to_do(ran):
    assert list(ran)[-1] == "what-is-left"
    assert (
        output_of(ran["what-is-left"])[0]
        == """\
4 of 22 points: 1 of 5 exercises pass.
  ✓ `softmax`: 4 of 4 points
  ✗ `attention_weights`: 0 of 5 points
  · `attention`: not written yet
  · `copies_predecessor`: not written yet
  ✗ `repaired_attention`: 0 of 4 points
Save this notebook, then hand in this one file: `01_attention.ipynb`"""
    )


@pytest.mark.thorough("only another version of nbgrader changes this")
def test_nbgrader_still_counts_a_stub_as_failed(built, tmp_path):
    with zipfile.ZipFile(built[1] / "release" / f"{CHAPTER}.zip") as archive:
        archive.extractall(tmp_path)
    notebook = nbformat.read(tmp_path / f"{CHAPTER}.ipynb", 4)
    by_grade_id(notebook)["softmax"].source = ANSWERS["softmax"]
    nbformat.write(notebook, tmp_path / f"{CHAPTER}.ipynb")
    checks = [cell.source for cell in notebook.cells if cell.metadata.nbgrader.grade]
    failed = Validator().validate(str(tmp_path / f"{CHAPTER}.ipynb"))["failed"]
    assert [cell["source"] for cell in failed] == [check for check in checks if check != "check(softmax)"]
    assert "CheckFailed: attention: 0 of 4 points." in "".join(cell["raw_error"] for cell in failed)
