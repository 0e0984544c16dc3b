"""Every chapter is collected from the names that Canvas and Moodle give to its files.

The names are made as the sources of the platforms make them, which `test_file_names.py` cites.
"""

import json

import pytest

from autograder.cli.main import main
from autograder.layout import chapter_names, exercise_names
from tests.choosing import thinned

pytestmark = pytest.mark.grading
# {student} is the number of one of the students, and {late} Canvas's mark.
NAMES = {
    "canvas": "lovelaceada{late}_12{student}_456{student}_{file}.ipynb",
    "canvas, anonymous": "{late}anon_Ab3xZ{student}_456{student}_{file}.ipynb",
    "moodle": "Ada Lovelace_12{student}_assignsubmission_file/{file}.ipynb",
    "moodle, before 4.1": "Ada Lovelace_12{student}_assignsubmission_file_/{file}.ipynb",
    "moodle, without folders": "Ada Lovelace_12{student}_assignsubmission_file_{file}.ipynb",
}
IDS = {"canvas": "12{}", "canvas, anonymous": "anon_Ab3xZ{}"}
MARKS = {"canvas": ("", "_LATE"), "canvas, anonymous": ("", "LATE_")}


@pytest.fixture
def whole_course(course):
    """Return a course in which every chapter is released, as a notebook with one cell."""
    for chapter in chapter_names():
        path = course / "release" / chapter / f"{chapter}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(notebook(chapter, "# write it here"))
    return course


def notebook(chapter, source):
    nbgrader = {"grade_id": exercise_names(chapter)[0], "solution": True, "grade": False}
    cell = {"cell_type": "code", "id": f"cell-{chapter}", "source": source, "metadata": {"nbgrader": nbgrader}}
    kernelspec = {"name": "python3", "display_name": "Python 3"}
    return json.dumps({"cells": [cell], "metadata": {"kernelspec": kernelspec}, "nbformat": 4}).encode()


@pytest.mark.parametrize("layout", thinned(NAMES, ("canvas", "moodle"), "the platform's other forms of names"))
def test_every_chapter(whole_course, zipped, capsys, layout):
    """Students hand in each chapter punctually and late, and once, twice and three times."""
    submissions = [(mark, number) for mark in MARKS.get(layout, ("",)) for number in ("", "-1", "-2")]
    for chapter in chapter_names():
        files, contents = {}, {}
        for student, (mark, number) in enumerate(submissions):
            content = notebook(chapter, f"answer = {student}")
            files[NAMES[layout].format(student=student, late=mark, file=chapter + number)] = content
            contents[IDS.get(layout, "participant-12{}").format(student)] = content
        capsys.readouterr()
        code = main(["collect", chapter, str(zipped(files)), "--course", str(whole_course)])
        out = capsys.readouterr().out
        assert code == 0 and f"{len(files)} files = {len(files)} placed" in out, out
        assert out.count("marked as late by the platform: 123, 124, 125") == (layout == "canvas")
        placed = whole_course.glob(f"submitted/*/{chapter}/{chapter}.ipynb")
        assert {path.parent.parent.name: path.read_bytes() for path in placed} == contents
