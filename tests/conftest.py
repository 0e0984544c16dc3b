"""How the tests are shared out among processes, and what is made once for all: a released course, the built book."""

import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from autograder.house import do_without_address_checks
from book.forms.pdf import find_browser
from tests.small_exercise import exercise, key  # noqa: F401 - fixtures for all tests

do_without_address_checks()  # in each of the processes that pytest-xdist starts
pytest_plugins = ["tests.choosing"]
CHAPTER = "01_attention"
# What takes longest begins first: the build of the book, and what mostly waits, for a limit to be reached or another
# process to answer. What else needs the built book comes next, when it is there, and the rest fills the end.
FIRST = (
    *("book/pages/test_browser", "book/live", "autograder/gradebook/test_killed", "attacks/test_attacks breaking_code"),
    *("little books", "autograder/exercises/test_exercises", "attacks/test_attacks forged_replies"),
    *("attacks/test_attacks forging", "autograder/gradebook/test_rerun", "book/pages/test_teaching_page"),
    *("autograder/gradebook/test_database", "autograder/grading/test_follow_through", "attacks/test_attacks"),
    *("autograder/gradebook/test_manual_scores", "autograder/gradebook/test_late_work"),
    *("autograder/gradebook/test_class_run", "attacks/test_follow_through"),
    *("autograder/sandbox/test_sandbox_parts", "autograder/grading/test_scheduler", "solutions/test_training"),
    "autograder/sandbox/test_sandbox_probe",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """The tests of one file go to one process, where they share what they have made."""
    items.sort(key=_place)
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))


def _place(item):
    group = _group(item)
    return FIRST.index(group) if group in FIRST else len(FIRST) + ("html" not in item.fixturenames)


def _group(item):
    """The name of all tests that go to the process of this one: those of its file, with some exceptions."""
    file = item.path.relative_to(Path(__file__).parent).with_suffix("").as_posix()
    for room in ("book/live", "book/forms"):
        if file.startswith(f"{room}/"):
            return room  # its tests share a book of their own
    if hasattr(item.module, "jupyter_book") and "html" not in item.fixturenames:
        return "little books"  # they share a process that has imported Sphinx
    if hasattr(item.module, "parsed"):
        return "built pages"  # they share what they have read of the book
    for part in ("breaking_code", "forged_replies", "forging"):
        if file == "attacks/test_attacks" and item.name.startswith(f"test_{part}"):
            return f"{file} {part}"  # they share little, and take longest of all
    return file


@pytest.fixture(scope="session")
def made_once(tmp_path_factory, worker_id):
    """made_once(name, make) -> a folder for all processes of this run, filled by make(folder) in the first that asks.

    It is there to be read or copied, and not to be changed.
    """
    base = tmp_path_factory.getbasetemp()
    run = base if worker_id == "master" else base.parent  # where pytest-xdist has the folders of its processes

    def made_once(name, make):
        folder, done = run / name, run / f"{name}.done"
        with FileLock(run / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return made_once


@pytest.fixture(scope="session")
def released_course(made_once):
    """A course with chapter 1 released, to be copied and not to be changed."""
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
    """Path of a Chromium; skipped, loudly, where there is none."""
    program = find_browser()
    if program is None:
        pytest.skip("NO CHROMIUM: pages were not tried in a browser. Install one, `apt-get install chromium`, say.")
    return program


@pytest.fixture(scope="session")
def browser(chromium):
    """A headless Chromium that reaches no other machine."""
    from tests.browsers.devtools import Browser

    with Browser(chromium) as started:
        yield started


@pytest.fixture(scope="session")
def firefox():
    """A headless Firefox that reaches no other machine; skipped, loudly, where there is none."""
    from tests.browsers.bidi import Firefox, find_firefox

    program = find_firefox()
    if program is None:
        pytest.skip("NO FIREFOX: pages were not tried in it. Install it, `apt-get install firefox-esr`, say.")
    with Firefox(program) as started:
        yield started
