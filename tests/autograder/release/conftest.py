"""A small repo and a course with its one chapter released."""

import shutil

import pytest

from autograder.release.publish import publish
from tests.autograder.release.small_repo import build


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Return a small repo, and a course with its one chapter released. Do not change them."""
    repo = build(tmp_path_factory.mktemp("repo"))
    course = tmp_path_factory.mktemp("course")
    publish(course, repo=repo)
    return repo, course


@pytest.fixture
def copy(built, tmp_path):
    """Return copies of both, which a test may change."""
    repo, course = shutil.copytree(built[0], tmp_path / "repo"), shutil.copytree(built[1], tmp_path / "course")
    return repo, course
