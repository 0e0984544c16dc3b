"""Which of the collected tests a run leaves out: a plugin of pytest.

`pytest` runs every test that it collects. Four options make a run shorter:

    --quick                   leaves out the tests marked `thorough`; `make test` does this
    --thorough-until SECONDS  skips those that would begin after this time, as `date +%s` gives it; CI does this
    -m fast                   keeps the tests of `make check`; `is_fast` says which those are
    --exercise NAME           keeps the tests that get this exercise, or its name, as a parameter

Every run reports how many tests it left out, and once for each reason how many it skipped.
"""

import time
from collections import Counter
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

FAST_AREAS = ("solutions", "autograder")
# They build a book, release a chapter or start a browser.
COSTLY_FIXTURES = {"made_once", "little_book", "built", "released", "chromium", "firefox"}
REPEATED = {"exercise", "chapter"}  # parameters
# Values of parameters with which a test shows what it shows with another value.
SIMILAR = {"dtype": [np.float32], "batch": [(), (2, 5)], "leading": [(), (2, 8)]}
MEASURED = "central_differences"  # in the names of tests; others compare the same layers with PyTorch in less time


def thinned(values, quick, why):
    """Return values as parameters of a test or a fixture; all but the quick ones are `thorough`.

    Args:
        values: what a test is repeated for.
        quick: those of them that a quick run keeps.
        why: what the others repeat.
    """
    return [value if value in quick else pytest.param(value, marks=pytest.mark.thorough(why)) for value in values]


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="leave out the tests marked `thorough`")
    parser.addoption("--thorough-until", type=float, metavar="SECONDS", help="skip those that begin after this time")
    parser.addoption("--exercise", metavar="NAME", help="run only the tests that get this exercise as a parameter")


def pytest_ignore_collect(collection_path, config):
    """Let `-m fast` import no file without fast tests: importing all files takes ten seconds in each process."""
    if config.option.markexpr == "fast":
        files = collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
        return not any(map(_names_fast_area, files)) or None


@cache
def _names_fast_area(file):
    text = file.read_text(encoding="utf-8")
    return any(f"pytest.mark.{area}" in text for area in FAST_AREAS)


@pytest.hookimpl(tryfirst=True)  # before pytest applies `-m`
def pytest_collection_modifyitems(config, items):
    """Mark the fast tests, and remove those that the options leave out."""
    for item in items:
        if is_fast(item):
            item.add_marker(pytest.mark.fast)
    chosen = {item: is_wanted(item, config.option) for item in items}
    if left_out := [item for item in items if not chosen[item]]:
        config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if chosen[item]]


@pytest.hookimpl(tryfirst=True)  # before the fixtures of a test that is skipped
def pytest_runtest_setup(item):
    """Skip a thorough test that begins too late, so that a run on a busy machine ends with a verdict."""
    until = item.config.option.thorough_until
    if until is not None and item.get_closest_marker("thorough") and time.time() > until:
        pytest.skip("NOT REACHED in time: tests marked `thorough`, which repeat others. `make test ALL=1` runs all.")


def is_fast(item):
    """Whether `make check` runs a test.

    Such a test belongs to a fast area, needs nothing costly and repeats no other test. Tests that are repeated for
    every exercise or chapter are left out; `make exercise` runs them for one exercise. Further dtypes, further
    numbers of batch axes and central differences are left out too; `make test` runs those.
    """
    in_area = any(item.get_closest_marker(area) for area in FAST_AREAS)
    parameters = _parameters(item)
    costly = COSTLY_FIXTURES & set(item.fixturenames) or REPEATED & parameters.keys()
    similar = MEASURED in item.name or any(value in SIMILAR.get(name, ()) for name, value in parameters.items())
    return in_area and not costly and not similar and not item.get_closest_marker("thorough")


def is_wanted(item, options):
    """Whether the options keep a test."""
    mark = item.get_closest_marker("thorough")
    if mark and not mark.args:
        raise pytest.UsageError(f"{item.nodeid}: the mark `thorough` needs a reason")
    return not (options.quick and mark) and options.exercise in (None, *_names(item))


def _names(item):
    """Yield the strings among a test's parameters, and the names of those that have one, as exercises do."""
    for value in _parameters(item).values():
        yield value if isinstance(value, str) else getattr(value, "name", None)


def _parameters(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


def pytest_deselected(items):
    """Count the tests that a process of pytest-xdist leaves out, because pytest-xdist does not."""
    config = items[0].config
    if hasattr(config, "workeroutput"):
        config.workeroutput["deselected"] = config.workeroutput.get("deselected", 0) + len(items)


@pytest.hookimpl(optionalhook=True)  # a hook of pytest-xdist
def pytest_testnodedown(node):
    """Report that number, which is the same in all processes, in the last line of the run."""
    reporter = node.config.pluginmanager.get_plugin("terminalreporter")
    count = getattr(node, "workeroutput", {}).get("deselected", 0)
    reporter.stats["deselected"] = [SimpleNamespace() for _ in range(count)]  # pytest counts them


def pytest_terminal_summary(terminalreporter):
    """Write one line for each reason to skip. pytest's `-rs` writes one for each place that is skipped for a reason."""
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped"))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED [{count}] {reason}")
