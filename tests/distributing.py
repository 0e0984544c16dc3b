"""Distribute the tests among processes: a plugin of pytest."""

import pytest

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
def pytest_collection_modifyitems(config, items):
    """Send the tests of one file to one process, because they share fixtures.

    If thorough tests have a time limit, they come last: on a busy machine, the others then all run.
    """
    limited = config.option.thorough_until is not None
    last = {item: limited and item.get_closest_marker("thorough") is not None for item in items}
    items.sort(key=lambda item: (last[item], _rank(item)))
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item) + last[item] * " thorough"))


def _rank(item):
    group = _group(item)
    return FIRST.index(group) if group in FIRST else len(FIRST) + ("html" not in item.fixturenames)


def _group(item):
    """Return the name of a test's group. A group runs in one process. With some exceptions it is a file."""
    file = item.path.relative_to(item.config.rootpath / "tests").with_suffix("").as_posix()
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
