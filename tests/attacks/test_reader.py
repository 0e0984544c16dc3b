"""Attacks on the code that reads submissions. It runs outside the sandbox, and must end whatever it reads."""

import copy

import pytest

from autograder.gradebook.rebuilding import rebuild
from autograder.grading import cell_notes, grade, reading
from autograder.grading.submitted_file import File
from autograder.pages import code
from tests.attacks.attack import HONEST_POINTS, dump, own_cell
from tests.attacks.dressing import only_honest
from tests.choosing import thinned
from tests.patience import PATIENT

pytestmark = pytest.mark.attacks

LONG = reading.MAX_SOURCE - 1
# Each of these once took more than a minute, or gigabytes.
SOURCES = {
    "spaces, which a command may begin with": " " * (LONG - 1) + "(",
    "a name with thousands of dots": "a." * (LONG // 2),
    "brackets": "(" * LONG,
    "an open string": '"""' + "\n" * (LONG - 3),
    "question marks": "a?" * (LONG // 2),
    "equal signs": "a =" * (LONG // 3),
    "lines of nothing but a space": "x" + " \n" * (LONG // 2 - 2) + "x",
}


FEW = [*SOURCES.values()][:2]


@pytest.mark.parametrize("source", thinned([*SOURCES.values()], FEW, "other long sources"), ids=SOURCES)
def test_no_source_keeps_the_grader_busy_forever(graded, perfect, assignment, source):
    notebook = only_honest(perfect)
    notebook["cells"].append(own_cell("code", source))
    report = graded(notebook)
    assert report.earned == HONEST_POINTS
    # The feedback page must be able to highlight it too.
    rebuilt = rebuild(reading.read_submission(File(dump(notebook)), assignment.released), report, assignment.released)
    assert [code.block(cell.source) for cell in rebuilt.cells if cell.source == source]


@pytest.mark.parametrize("value", [b'{"":0}', b"{}", b"[]", b"0.5"], ids=bytes.decode)
def test_a_file_of_many_small_values_is_not_parsed(graded, perfect, value):
    bomb = dump({**perfect, "metadata": {"bomb": "HERE"}}).replace(b'"HERE"', b"[%s]" % b",".join([value] * 3_000_001))
    report = graded(bomb)
    assert report.earned == 0 and "more than 3000000 values" in report.trouble


def test_a_notebook_with_too_much_text_is_not_graded(graded, perfect):
    notebook = copy.deepcopy(perfect)
    notebook["cells"] += [own_cell("markdown", "x" * LONG) for _ in range(11)]
    report = graded(notebook)
    assert report.earned == 0 and "keep only your work" in report.trouble


def test_a_report_holds_a_limited_number_of_notes_on_cells(graded, perfect):
    notebook = only_honest(perfect)
    raising = "raise type('E' * 200, (Exception,), {})('loud' * 200)  # " + "long " * 100
    attention = next(cell for cell in notebook["cells"] if cell["id"] == "attention")
    attention["source"] = raising
    notebook["cells"][1:1] = [own_cell("code", raising) for _ in range(300)]
    report = graded(notebook)
    notes = [note for note in report.notes if "The cell" in note or note.startswith("And")]
    assert report.earned == HONEST_POINTS and len(notes) == cell_notes.MAX_NOTES + 1
    assert notes[0].startswith("The cell attention raised EEE")
    assert notes[-1] == "And 281 more cells raised an exception or were stopped."
    assert max(map(len, notes)) < 400


def test_a_report_holds_a_limited_number_of_notes_of_the_sandbox(assignment, bundle, solutions, perfect, monkeypatch):
    real_run = grade.run

    def run(*args, **options):
        result = real_run(*args, **options)
        result.notes.extend(f"cell {number} of your own ended the Python process" for number in range(1_000))
        return result

    monkeypatch.setattr(grade, "run", run)
    file = File(dump(perfect))
    seeds = dict.fromkeys(assignment.released.functions, 5)
    log = grade.grade_submission(file, seeds, assignment, bundle, solutions, PATIENT).log
    assert len(log) == cell_notes.MAX_NOTES + 1 and log[-1] == "And 980 more were noted."
