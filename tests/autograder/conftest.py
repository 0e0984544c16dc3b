"""A released course for the tests, and its graded example class."""

import json
import pickle
import shutil
import sys
from functools import cache, partial

import pytest
from jinja2 import FileSystemBytecodeCache

from tests.conftest import CHAPTER


@pytest.fixture(scope="session", autouse=True)
def alembic_starts_once():
    """Remember the version of nbgrader's tables: for each new gradebook nbgrader starts alembic to ask for it."""
    if api := sys.modules.get("nbgrader.api"):
        api.get_alembic_version = cache(api.get_alembic_version)


@pytest.fixture(scope="session", autouse=True)
def templates_are_compiled_once(tmp_path_factory):
    """Keep nbconvert's compiled templates: otherwise each page of feedback compiles them again."""
    if exporter := sys.modules.get("nbconvert.exporters.templateexporter"):
        kept = FileSystemBytecodeCache(str(tmp_path_factory.mktemp("templates")))
        exporter.Environment = partial(exporter.Environment, bytecode_cache=kept)


@pytest.fixture(scope="session")
def graded_class(made_once, released_course, tmp_path_factory):
    """Return the graded example class: examples by student, rows by student, and the course folder."""
    from autograder.example import example_class
    from autograder.gradebook import class_run

    def make(folder):
        course = shutil.copytree(released_course, folder / "course")
        examples = {example.student: example for example in example_class.hand_in(course, CHAPTER)}
        rows = {row.student: row for row in class_run.grade_class(course, CHAPTER)}
        (folder / "class").write_bytes(pickle.dumps((examples, rows)))

    folder = made_once("class", make)
    examples, rows = pickle.loads((folder / "class").read_bytes())
    # Each process gets a copy, because some tests write a report into the folder.
    return examples, rows, shutil.copytree(folder / "course", tmp_path_factory.mktemp("class") / "course")


@pytest.fixture
def course(released_course, tmp_path):
    """Return a released course that the test may change."""
    return shutil.copytree(released_course, tmp_path / "course")


@pytest.fixture(scope="session")
def contents(made_once, released_course):
    """Return the id of each student of the example class -> the bytes of the notebook."""
    from autograder.example import example_class

    def make(folder):
        for example in example_class.examples(released_course, CHAPTER):
            (folder / example.student).write_bytes(example.content)

    return {path.name: path.read_bytes() for path in made_once("contents", make).iterdir()}


@pytest.fixture(scope="session")
def perfect(contents):
    """Return a perfect notebook as JSON. Copy it before you change it."""
    return json.loads(contents["perfect"])


@pytest.fixture
def hand_in(course):
    """Return hand_in(student, content), which writes a submission and returns its path."""

    def put(student, content):
        path = course / "submitted" / student / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return put


@pytest.fixture
def ada(course, contents, made_once):
    """Return a course that the test may change, in which ada's perfect notebook is graded."""
    from autograder.gradebook import class_run

    def make(folder):
        graded = shutil.copytree(course, folder / "course")
        handed_in = graded / "submitted" / "ada" / CHAPTER
        handed_in.mkdir(parents=True)
        (handed_in / f"{CHAPTER}.ipynb").write_bytes(contents["perfect"])
        class_run.grade_class(graded, CHAPTER)

    return shutil.copytree(made_once("ada", make) / "course", course, dirs_exist_ok=True)
