"""A small house and a course with its one chapter released."""

import shutil

import pytest

from autograder.release.publish import publish
from tests.autograder.release.small_house import build


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return a small house, and a course with its one chapter released. Do not change them."""
    house = build(tmp_path_factory.mktemp("house"))
    course = tmp_path_factory.mktemp("course")
    publish(course, house=house)
    return house, course


@pytest.fixture
def copy(built, tmp_path):
    """Return copies of both, which a test may change."""
    house, course = shutil.copytree(built[0], tmp_path / "house"), shutil.copytree(built[1], tmp_path / "course")
    return house, course
