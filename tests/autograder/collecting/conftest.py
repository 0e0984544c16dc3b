"""What several tests of collecting use."""

import time
import zipfile

import pytest

from tests.autograder.collecting.downloads import WORKSHEET
from tests.autograder.gradebook.graded_course import open_gradebook
from tests.conftest import CHAPTER


@pytest.fixture
def zipped(tmp_path):
    """zipped({name: bytes}, year) -> a zip file with entries of that year."""

    def make(files, year=2026, name="download.zip"):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for entry, content in files.items():
                archive.writestr(zipfile.ZipInfo(entry, (year, 2, 3, 10, 0, 0)), content)
        return tmp_path / name

    return make


@pytest.fixture
def roster(course):
    """roster(("al1815", "Ada", "Lovelace", "ada@example.org"), ...) adds students to the gradebook."""

    def add(*students):
        with open_gradebook(course) as gradebook:
            for student, first, last, email in students:
                gradebook.add_student(student, first_name=first, last_name=last, email=email)

    return add


@pytest.fixture
def due(course):
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_assignment(CHAPTER, duedate="2026-02-03 12:00:00 UTC")


@pytest.fixture
def worksheet(tmp_path, monkeypatch):
    path = tmp_path / "Grades-Course-01.csv"
    path.write_text(WORKSHEET, encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield path
    time.tzset()
