"""Attacks on what reads submissions, which runs outside the sandbox: it comes to an end, whatever is handed in."""

import copy

import pytest

from autograder.gradebook.rebuilding import rebuild
from autograder.grading import reading
from autograder.grading.submitted_file import File
from autograder.pages import code
from tests.attacks.attack import HONEST_POINTS, dump, own_cell
from tests.attacks.dressing import only_honest

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
    assert report.earned == 0 and "values and more" in report.trouble


def test_a_book_is_not_graded(graded, perfect):
    notebook = copy.deepcopy(perfect)
    notebook["cells"] += [own_cell("markdown", "x" * LONG) for _ in range(11)]
    report = graded(notebook)
    assert report.earned == 0 and "hand in what counts" in report.trouble
