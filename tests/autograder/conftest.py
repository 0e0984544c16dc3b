"""The released course of the tests, and its graded example class."""

import json
import pickle
import shutil

import pytest

from tests.conftest import CHAPTER


@pytest.fixture(scope="session")
def graded_class(made_once, released_course, tmp_path_factory):
    """The course with its graded example class: examples and rows by student, and the course folder."""
    from autograder.example import example_class
    from autograder.gradebook import class_run

    def make(folder):
        course = shutil.copytree(released_course, folder / "course")
        made = {each.student: each for each in example_class.hand_in(course, CHAPTER)}
        rows = {row.student: row for row in class_run.grade_class(course, CHAPTER)}
        (folder / "class").write_bytes(pickle.dumps((made, rows)))

    folder = made_once("class", make)
    made, rows = pickle.loads((folder / "class").read_bytes())
    # Some look by having a report written into it: a copy for each process.
    return made, rows, shutil.copytree(folder / "course", tmp_path_factory.mktemp("class") / "course")


@pytest.fixture
def course(released_course, tmp_path):
    """A released course to change."""
    return shutil.copytree(released_course, tmp_path / "course")


@pytest.fixture(scope="session")
def contents(made_once, released_course):
    """Student of the example class -> the bytes of the notebook."""
    from autograder.example import example_class

    def make(folder):
        for each in example_class.examples(released_course, CHAPTER):
            (folder / each.student).write_bytes(each.content)

    return {path.name: path.read_bytes() for path in made_once("contents", make).iterdir()}


@pytest.fixture(scope="session")
def perfect(contents):
    """A perfect notebook, as JSON; copy before you change it."""
    return json.loads(contents["perfect"])


@pytest.fixture
def hand_in(course):
    """hand_in(student, bytes) -> the file."""

    def put(student, content):
        path = course / "submitted" / student / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return put


@pytest.fixture
def ada(course, contents, made_once):
    """The course to change, in which ada's perfect notebook is graded."""
    from autograder.gradebook import class_run

    def make(folder):
        graded = shutil.copytree(course, folder / "course")
        handed_in = graded / "submitted" / "ada" / CHAPTER
        handed_in.mkdir(parents=True)
        (handed_in / f"{CHAPTER}.ipynb").write_bytes(contents["perfect"])
        class_run.grade_class(graded, CHAPTER)

    return shutil.copytree(made_once("ada", make) / "course", course, dirs_exist_ok=True)
