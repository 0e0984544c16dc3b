"""Distribute the tests among processes, and make once for all of them: a released course and the built book."""

import gc
import sys
import traceback
from functools import cache
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock

from autograder.grading import own_process
from autograder.layout import do_without_address_checks
from book.forms.pdf import find_browser
from tests.own_sandboxes import none_warm, sandboxes  # noqa: F401
from tests.small_exercise import exercise, key  # noqa: F401 - fixtures for all tests

# No example fails because the machine is busy.
hypothesis.settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy machine")
do_without_address_checks()  # in each of the processes that pytest-xdist starts
# A test can replace what its own process does. `test_own_process.py` and others set another number.
own_process.CALLS_BEFORE_OWN_PROCESS = sys.maxsize
pytest_plugins = ["tests.choosing"]
CHAPTER = "01_attention"
# The longest groups of tests start first: the build of the book, and the tests that mostly wait for a time limit or for
# another process. Then come the other tests of the built book, then the rest. Two groups that need the same small book
# do not start together, because one would wait for the other.
FIRST = (
    *("book/pages/test_browser", "live exercises", "live pages", "autograder/gradebook/test_killed"),
    *("attacks/test_attacks breaking_code", "book/live/test_parity"),
    *("little books", "autograder/exercises/test_exercises", "attacks/test_attacks forged_replies"),
    *("attacks/test_attacks forging", "autograder/gradebook/test_rerun", "book/pages/test_course_page"),
    *("autograder/gradebook/test_database", "autograder/grading/test_follow_through", "attacks/test_attacks"),
    *("autograder/gradebook/test_manual_scores", "autograder/gradebook/test_late_work"),
    *("autograder/gradebook/test_class_run", "attacks/test_follow_through"),
    *("autograder/sandbox/test_sandbox_parts", "autograder/grading/test_scheduler", "solutions/test_training"),
    "autograder/sandbox/test_sandbox_probe",
)
# These take half of the time of all live pages. The tests of a half share a browser and the Python that it has started.
EXERCISES = {f"book/live/test_{name}" for name in ("editor", "live_pages", "loading", "print", "targets")}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Send the tests of one file to one process, because they share fixtures."""
    items.sort(key=_rank)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))


def pytest_collection_finish():
    """Exempt what is imported by now from garbage collection, which would look through it again and again."""
    gc.collect()
    gc.freeze()


def _rank(item):
    group = _group(item)
    return FIRST.index(group) if group in FIRST else len(FIRST) + ("html" not in item.fixturenames)


def _group(item):
    """The name of a test's group. A group runs in one process. It is usually a file."""
    file = _file(item.path)
    if file.startswith("book/forms/"):
        return "book/forms"  # its tests share a small book
    if file.startswith("book/live/"):
        return file if "browser" not in item.fixturenames else "live exercises" if file in EXERCISES else "live pages"
    if hasattr(item.module, "jupyter_book") and "html" not in item.fixturenames:
        return "little books"  # they share a process that has imported Sphinx
    if hasattr(item.module, "parsed"):
        return "built pages"  # they share the parsed pages of the book
    for part in ("breaking_code", "forged_replies", "forging"):
        if file == "attacks/test_attacks" and item.name.startswith(f"test_{part}"):
            return f"{file} {part}"  # they share little and take longest
    return file


@cache
def _file(path):
    return path.relative_to(Path(__file__).parent).with_suffix("").as_posix()


@pytest.fixture(scope="session")
def made_once(tmp_path_factory, worker_id):
    """Return made_once(name, make), which returns a folder that all processes of this run share.

    The first process that calls it fills the folder with make(folder). Tests may read or copy it, but not change it.
    What make raises is raised in the first process, and reported in the others, which do not try again: a book that
    cannot be built would take each of them as long as the first.
    """
    base = tmp_path_factory.getbasetemp()
    run = base if worker_id == "master" else base.parent  # the folders of pytest-xdist's processes are in there

    def made_once(name, make):
        folder, outcome = run / name, run / f"{name}.outcome"
        with FileLock(run / f"{name}.lock"):
            if not outcome.exists():
                folder.mkdir()
                outcome.write_text(f"Another process of this run was making {name!r} when it ended.")
                try:
                    make(folder)
                except BaseException:
                    outcome.write_text(traceback.format_exc())
                    raise
                outcome.write_text("")
        assert not outcome.read_text(), outcome.read_text()
        return folder

    return made_once


@pytest.fixture(scope="session")
def released_course(made_once):
    """Return a course with chapter 1 released. Tests copy it and must not change it."""
    from autograder.release.publish import publish

    folder = made_once("released", lambda folder: publish(folder, [CHAPTER]))
    before = _content(folder)
    yield folder
    changed = {path for path, _ in before.items() ^ _content(folder).items()}
    assert not changed, "a test has changed the released course, which all tests copy"


def _content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def chromium():
    """Return the path of a Chromium. Skip, with a reason, if there is none."""
    program = find_browser()
    if program is None:
        pytest.skip("NO CHROMIUM: pages were not tested in a browser. Install one: `apt-get install chromium`.")
    return program


@pytest.fixture(scope="session")
def chromium_browser(chromium):
    """Yield a headless Chromium that cannot reach other machines."""
    from tests.browsers.devtools import Browser

    with Browser(chromium) as started:
        yield started


@pytest.fixture(scope="session")
def browser(chromium_browser):
    """Return the browser of a test that needs only one."""
    return chromium_browser


@pytest.fixture(scope="session")
def firefox():
    """Yield a headless Firefox that cannot reach other machines. Skip, with a reason, if there is none."""
    from tests.browsers.bidi import Firefox, find_firefox

    program = find_firefox()
    if program is None:
        pytest.skip("NO FIREFOX: pages were not tested in it. Install it: `apt-get install firefox-esr`.")
    with Firefox(program) as started:
        yield started
