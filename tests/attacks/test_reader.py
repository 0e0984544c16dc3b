"""Attacks on what reads submissions, which runs outside the sandbox: it comes to an end, whatever is handed in."""

import copy

import pytest

from autograder.gradebook.rebuilding import rebuild
from autograder.grading import grade, reading
from autograder.grading.submitted_file import File
from autograder.pages import code
from tests.attacks.attack import HONEST_POINTS, dump, own_cell
from tests.attacks.dressing import only_honest
from tests.patience import PATIENT

pytestmark = pytest.mark.attacks

LONG = reading.MAX_SOURCE - 1
# Each took a minute and more, or gigabytes, before it was found here.
SOURCES = {
    "spaces, which a command may begin with": " " * (LONG - 1) + "(",
    "a name with thousands of dots": "a." * (LONG // 2),
    "brackets": "(" * LONG,
    "an open string": '"""' + "\n" * (LONG - 3),
    "question marks": "a?" * (LONG // 2),
    "equal signs": "a =" * (LONG // 3),
    "lines of nothing but a space": "x" + " \n" * (LONG // 2 - 2) + "x",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_no_source_keeps_the_grader_from_ending(graded, perfect, assignment, source):
    notebook = only_honest(perfect)
    notebook["cells"].append(own_cell("code", source))
    report = graded(notebook)
    assert report.earned == HONEST_POINTS
    # And how pages colour it.
    rebuilt = rebuild(reading.read_submission(File(dump(notebook)), assignment.released), report, assignment.released)
    assert [code.block(cell.source) for cell in rebuilt.cells if cell.source == source]


@pytest.mark.parametrize("value", [b'{"":0}', b"{}", b"[]", b"0.5"], ids=bytes.decode)
def test_a_file_of_many_small_values_is_not_taken_apart(graded, perfect, value):
    bomb = dump({**perfect, "metadata": {"bomb": "HERE"}}).replace(b'"HERE"', b"[%s]" % b",".join([value] * 3_000_001))
    report = graded(bomb)
    assert report.earned == 0 and "more than 3000000 values" in report.trouble


def test_a_book_is_not_graded(graded, perfect):
    notebook = copy.deepcopy(perfect)
    notebook["cells"] += [own_cell("markdown", "x" * LONG) for _ in range(11)]
    report = graded(notebook)
    assert report.earned == 0 and "keep only your work" in report.trouble


def test_hundreds_of_cells_that_raise_fill_no_page(graded, perfect):
    notebook = only_honest(perfect)
    raising = "raise type('E' * 200, (Exception,), {})('loud' * 200)  # " + "long " * 100
    ours = next(cell for cell in notebook["cells"] if cell["id"] == "attention")
    ours["source"] = raising
    notebook["cells"][1:1] = [own_cell("code", raising) for _ in range(300)]
    report = graded(notebook)
    said = [note for note in report.notes if "The cell" in note or note.startswith("And")]
    assert report.earned == HONEST_POINTS and len(said) == grade.MAX_NOTES + 1
    assert said[0].startswith("The cell attention raised EEE")
    assert said[-1] == "And 281 more cells raised an exception or were stopped."
    assert max(map(len, said)) < 400


def test_what_the_sandbox_notes_does_not_fill_a_report_either(assignment, bundle, solutions, perfect, monkeypatch):
    noting = grade.run

    def run(*args, **options):
        ran = noting(*args, **options)
        ran.notes.extend(f"cell {number} of your own ended the Python process" for number in range(1_000))
        return ran

    monkeypatch.setattr(grade, "run", run)
    file = File(dump(perfect))
    seeds = dict.fromkeys(assignment.released.functions, 5)
    log = grade.grade_submission(file, seeds, assignment, bundle, solutions, PATIENT).log
    assert len(log) == grade.MAX_NOTES + 1 and log[-1] == "And 980 more were noted."
