"""What a worker answers is read as data, and held against what it was asked for."""

import json
from concurrent.futures import Future
from copy import deepcopy

import pytest

from autograder.course.handout import load_handout
from autograder.grading import replies
from autograder.grading.report import Report
from autograder.grading.unpickling import NotUnpickled
from autograder.sandbox import SandboxUnavailable
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.fixture(scope="module")
def asked(graded_class):
    """A report, and the released notebook."""
    _, rows, course = graded_class
    return rows["mistake-1"].report, load_handout(course, CHAPTER)


def future(raw=None, error=None):
    made = Future()
    made.set_exception(error) if error else made.set_result(raw)
    return made


def received(fields, asked):
    report, released = asked
    return replies.decode_report(future(json.dumps({"answer": fields}).encode()), report.made_from, released)


def test_a_report_comes_back_as_it_was(asked):
    report, released = asked
    raw = replies.call_and_encode(report.to_json)
    assert replies.decode_report(future(raw), report.made_from, released) == report


def deep(fields, path, value):
    """A copy of JSON with another value in one place."""
    fields = deepcopy(fields)
    *way, last = path
    place = fields
    for step in way:
        place = place[step]
    place[last] = value
    return fields


ODD = {"passed": False, "kind": "odd", "message": ""}
ASPECT = ("results", 0, "aspects", 0)
WRONG = {
    "a digest of another": (("digest",), "0" * 64, "on another submission"),
    "another chapter": (("chapter",), "02_masking", "on another submission"),
    "other parts": (("made_from", "submission"), "0" * 64, "on another submission"),
    "another exercise": (("results", 0, "function"), "mask", "on other exercises"),
    "no exercises": (("results",), [], "on other exercises"),
    "a score beyond the points": (("results", 0, "earned"), 1000.0, "an impossible score for softmax"),
    "a negative score": (("results", 0, "earned"), -4.0, "an impossible score"),
    "a score that is no number": (("results", 0, "earned"), float("nan"), "an impossible score"),
    "more points": (("results", 0, "points"), 1000.0, "an impossible score"),
    "an aspect worth more": ((*ASPECT, "points"), 1000.0, "an impossible score"),
    "half of an aspect": ((*ASPECT, "earned"), 0.5, "an impossible score"),
    "more cases than there are": ((*ASPECT, "passed"), 99, "an impossible score"),
    "a kind of fault that there is not": (("results", 0, "verdict"), ODD, "an impossible score"),
    "a number for a text": (("chapter",), 1, "Expected `str`, got `int` - at `$.chapter`"),
    "a text for a number": (("results", 0, "earned"), "4", r"Expected `float`, got `str` - at `$.results[0].earned`"),
    "a text for texts": (("notes",), "none", "Expected `array`, got `str` - at `$.notes`"),
    "texts for a text": (("log",), [["a"]], "Expected `str`, got `array` - at `$.log[0]`"),
    "a field too many in a result": (("results", 0, "more"), 1, "its results cannot be read"),
    "no results": (("results",), None, "its results cannot be read"),
    "results of something else": (("results",), ["a"], "its results cannot be read"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_report_that_is_not_the_one_asked_for_is_refused(what, asked):
    path, value, words = WRONG[what]
    with pytest.raises(replies.NoReport) as error:
        received(deep(asked[0].to_json(), path, value), asked)
    assert words in str(error.value)


@pytest.mark.parametrize(("points", "earned"), [(1000.0, 1000.0), (1.0, 0.5), (1.0, -1.0)])
def test_points_that_add_up_and_that_nobody_can_have_are_refused(points, earned, asked):
    fields = asked[0].to_json()
    result = fields["results"][0]
    result["aspects"][0].update(points=points, earned=earned)
    result |= {what: sum(aspect[what] for aspect in result["aspects"]) for what in ("points", "earned")}
    with pytest.raises(replies.NoReport, match="an impossible score for softmax"):
        received(fields, asked)


@pytest.mark.parametrize("field", ["digest", "results", "seconds", "made_from"])
def test_a_report_with_a_field_too_few_is_refused(field, asked):
    fields = asked[0].to_json()
    del fields[field]
    with pytest.raises(ValueError, match=field):
        Report.from_json(fields)


@pytest.mark.parametrize("fields", [None, [], "report", 1])
def test_what_is_no_report_is_refused(fields, asked):
    with pytest.raises(replies.NoReport, match="not a report: Expected `object`"):
        received(fields, asked)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000, "{}", None, b'{"failed": 1}'])
def test_what_is_no_reply_is_refused(raw):
    with pytest.raises(replies.NoReport, match="not a reply"):
        replies.decode_answer(future(raw))


def test_why_there_is_no_place_to_grade_comes_back_in_words():
    def unavailable():
        raise SandboxUnavailable("install bubblewrap")

    with pytest.raises(SandboxUnavailable, match="^install bubblewrap$"):
        replies.decode_answer(future(replies.call_and_encode(unavailable)))


def test_what_a_worker_raises_comes_back_in_words():
    def full():
        raise OSError("disk full")

    with pytest.raises(replies.NoReport, match="^OSError: disk full$"):
        replies.decode_answer(future(replies.call_and_encode(full)))


@pytest.mark.parametrize("error", [NotUnpickled("posix.system"), Exception(b"\x80\x04.")])
def test_what_was_not_unpickled_is_a_sentence(error):
    with pytest.raises(replies.NoReport, match="which is not opened on this machine"):
        replies.decode_answer(future(error=error))


def test_what_goes_wrong_here_stays_what_it_is():
    with pytest.raises(OSError, match="disk full"):
        replies.decode_answer(future(error=OSError("disk full")))
