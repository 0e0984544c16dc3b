"""Make once for all processes that run tests: a released course and the built book."""

import sys
import traceback

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
own_process.FEW = sys.maxsize
pytest_plugins = ["tests.choosing", "tests.distributing"]
CHAPTER = "01_attention"


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
