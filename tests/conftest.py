"""One browser for all tests that look at pages, and one released course for all that copy it."""

from pathlib import Path

import pytest
from pdf import find_browser

from autograder.house import do_without_address_checks

do_without_address_checks()  # in each of the processes that pytest-xdist starts
CHAPTER = "01_attention"
# What is done at once stands at the front, beside the book, and then what takes longest. Attacks, pages and grading
# mostly wait, for a limit to be reached or another process to answer: with four processes two processors are busy.
ORDER = (
    *("book", "live", ".", "autograder/check", "autograder/grading", "killed", "attacks", "little books"),
    *("autograder/sandbox", "autograder", "solutions", "autograder/release"),
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The tests of one folder go to one process, where they share what they have made.

    Those that build little books of their own need not wait for the book, and go to another; so does what is killed
    fifty times, which shares nothing.
    """

    def group(item):
        folder = item.path.relative_to(Path(__file__).parent).parent.as_posix()
        if item.path.stem == "test_killed":
            return "killed"
        return "little books" if folder == "book" and "html" not in item.fixturenames else folder

    items.sort(key=lambda item: ORDER.index(group(item)) if group(item) in ORDER else len(ORDER))
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group(item)))


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
    program = find_browser()
    if program is None:
        pytest.skip("NO CHROMIUM: pages were not tried in a browser. Install one, `apt-get install chromium`, say.")
    return program


@pytest.fixture(scope="session")
def browser(chromium):
    """A headless Chromium that reaches no other machine."""
    from tests.book.devtools import Browser

    with Browser(chromium) as started:
        yield started
