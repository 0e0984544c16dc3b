"""The options that shorten a test run."""

import time

import pytest

pytest_plugins = ["pytester"]
TESTS = """
from types import SimpleNamespace

import pytest
from tests.choosing import thinned

softmax = SimpleNamespace(name="softmax")

@pytest.mark.solutions
def test_plain(): pass

@pytest.mark.solutions
@pytest.mark.parametrize("size", thinned([1, 2, 3], quick=[2], why="other sizes"))
def test_sizes(size): pass

@pytest.mark.solutions
@pytest.mark.parametrize("leading", [(), (2,), (2, 8)], ids=["none", "one", "two"])
def test_batches(leading): pass

@pytest.mark.solutions
def test_a_gradient_agrees_with_central_differences(): pass

@pytest.mark.solutions
@pytest.mark.parametrize("exercise", [softmax, "softmax", "masked_softmax"])
def test_exercises(exercise): pass

@pytest.mark.solutions
@pytest.mark.parametrize("chapter", ["01_attention"])
def test_chapters(chapter): pass

@pytest.fixture
def chromium(): pass

@pytest.mark.solutions
def test_in_a_browser(chromium): pass
"""
FAST = ["test_plain", "test_sizes[2]", "test_batches[one]"]


@pytest.fixture
def collected(pytester):
    """Return collected(*options), which returns the names of the tests that pytest keeps, and its last line."""
    pytester.makepyfile(TESTS)

    def collected(*options):
        result = pytester.runpytest_inprocess("-p", "tests.choosing", "--collect-only", "-q", *options)
        return [line.rpartition("::")[2] for line in result.outlines if "::" in line], result.outlines[-1]

    return collected


def test_without_an_option_every_test_runs(collected):
    names, last = collected()
    assert len(names) == 13 and "deselected" not in last


def test_a_quick_run_leaves_out_thorough_tests_and_counts_them(collected):
    names, last = collected("--quick")
    assert [name for name in names if "sizes" in name] == ["test_sizes[2]"]
    assert len(names) == 11 and "2 deselected" in last


def test_fast_leaves_out_tests_with_costly_fixtures_and_repeated_tests(collected):
    assert collected("-m", "fast")[0] == FAST


def test_fast_imports_no_file_without_fast_tests(collected, pytester):
    pytester.makepyfile(test_of_book="raise SystemExit('imported')")
    assert collected("-m", "fast")[0] == FAST


def test_an_exercise_is_chosen_by_its_whole_name(collected):
    assert len(collected("--exercise", "softmax")[0]) == 2
    assert collected("--exercise", "masked_softmax")[0] == ["test_exercises[masked_softmax]"]


def test_the_mark_thorough_needs_a_reason(pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.thorough\ndef test(): pass")
    result = pytester.runpytest_inprocess("-p", "tests.choosing", "--quick")
    result.stderr.fnmatch_lines("*the mark `thorough` needs a reason*")


def test_thorough_tests_that_would_begin_too_late_are_skipped_loudly(pytester):
    """CI ends after 90 minutes without a verdict, and quick tests show what thorough ones repeat."""
    pytester.makepyfile(TESTS)

    def outcomes(until):
        result = pytester.runpytest_inprocess("-p", "tests.choosing", f"--thorough-until={until}")
        return result, result.parseoutcomes()

    assert outcomes(time.time() + 10_000)[1] == {"passed": 13}
    result, late = outcomes(time.time() - 1)
    assert late == {"passed": 11, "skipped": 2}
    result.stdout.fnmatch_lines(["SKIPPED * NOT REACHED in time: *"])


def test_a_run_has_one_line_for_each_reason_to_skip(pytester):
    """Without a browser, `-rs` wrote 180 lines with three reasons."""
    pytester.makeconftest("""
import pytest

@pytest.fixture
def chromium(): pytest.skip("NO CHROMIUM. Install it.")
""")
    for name in ("pages", "forms"):
        pytester.makepyfile(
            **{
                f"test_{name}": """
import pytest

def test_one(chromium): pass
def test_two(chromium): pass
@pytest.mark.skipif(True, reason="NOT ROOT.")
def test_three(): pass
"""
            }
        )
    result = pytester.runpytest_inprocess("-p", "tests.choosing")
    skipped = [line for line in result.outlines if line.startswith("SKIPPED")]
    assert skipped == ["SKIPPED [4] NO CHROMIUM. Install it.", "SKIPPED [2] NOT ROOT."]
