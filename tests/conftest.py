"""One browser for all tests that look at pages, and one released course for all that copy it."""

import shutil

import pytest

CHAPTER = "01_attention"


@pytest.fixture(scope="session")
def released_course(tmp_path_factory):
    """A course with chapter 1 released, to be copied and not to be changed."""
    from autograder.release.publish import publish

    course = tmp_path_factory.mktemp("released") / "course"
    publish(course, [CHAPTER])
    return course


@pytest.fixture(scope="session")
def chromium():
    """Path of a Chromium; skipped, loudly, where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("NO CHROMIUM: pages were not tried in a browser. Install one, `apt-get install chromium`, say.")
    return program


@pytest.fixture(scope="session")
def browser(chromium):
    """A headless Chromium that reaches no other machine."""
    from tests.book.devtools import Browser

    with Browser(chromium) as started:
        yield started
