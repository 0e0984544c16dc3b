"""A worker's reply is read as data, and must be the report that was asked for."""

import json
from concurrent.futures import Future
from copy import copy, deepcopy

import pytest

from autograder.course.handout import load_handout
from autograder.grading import replies
from autograder.grading.report import Report
from autograder.grading.unpickling import NotUnpickled
from autograder.sandbox import MachineTooBusy, SandboxUnavailable
from check.predictions import ORDER
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.fixture(scope="module")
def expected(graded_class):
    """A report, and the released notebook."""
    _, rows, course = graded_class
    return rows["mistake-1"].report, load_handout(course, CHAPTER)


def future(raw=None, error=None):
    future = Future()
    future.set_exception(error) if error else future.set_result(raw)
    return future


def received(fields, expected):
    report, released = expected
    return replies.decode_report(future(json.dumps({"answer": fields}).encode()), report.made_from, released)


def test_decoding_a_report_returns_what_was_encoded(expected):
    report, released = expected
    raw = replies.call_and_encode(report.to_json)
    assert replies.decode_report(future(raw), report.made_from, released) == report


def deep(fields, path, value):
    """Return a copy of JSON with the value at one path replaced."""
    fields = deepcopy(fields)
    *parents, last = path
    place = fields
    for step in parents:
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
    "a score that is not a number": (("results", 0, "earned"), float("nan"), "an impossible score"),
    "more points": (("results", 0, "points"), 1000.0, "an impossible score"),
    "an aspect worth more": ((*ASPECT, "points"), 1000.0, "an impossible score"),
    "half of an aspect": ((*ASPECT, "earned"), 0.5, "an impossible score"),
    "more cases than there are": ((*ASPECT, "passed"), 99, "an impossible score"),
    "an unknown kind of fault": (("results", 0, "verdict"), ODD, "an impossible score"),
    "a number for a text": (("chapter",), 1, "Expected `str`, got `int` - at `$.chapter`"),
    "a text for a number": (("results", 0, "earned"), "4", r"Expected `float`, got `str` - at `$.results[0].earned`"),
    "a text for texts": (("notes",), "none", "Expected `array`, got `str` - at `$.notes`"),
    "texts for a text": (("log",), [["a"]], "Expected `str`, got `array` - at `$.log[0]`"),
    "a field too many in a result": (("results", 0, "more"), 1, "its results cannot be read"),
    "no results": (("results",), None, "its results cannot be read"),
    "results of something else": (("results",), ["a"], "its results cannot be read"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_report_other_than_the_expected_one_is_refused(what, expected):
    path, value, words = WRONG[what]
    with pytest.raises(replies.NoReport) as error:
        received(deep(expected[0].to_json(), path, value), expected)
    assert words in str(error.value)


@pytest.mark.parametrize(("points", "earned"), [(1000.0, 1000.0), (1.0, 0.5), (1.0, -1.0)])
def test_impossible_points_are_refused_even_if_they_add_up(points, earned, expected):
    fields = expected[0].to_json()
    result = fields["results"][0]
    result["aspects"][0].update(points=points, earned=earned)
    result |= {what: sum(aspect[what] for aspect in result["aspects"]) for what in ("points", "earned")}
    with pytest.raises(replies.NoReport, match="an impossible score for softmax"):
        received(fields, expected)


@pytest.mark.parametrize(("earned", "is_possible"), [(0.5, True), (0.4, False), (-0.5, False), (2.5, False)])
def test_a_prediction_may_earn_half_points_and_no_other_share(earned, is_possible, expected, monkeypatch):
    exercises = replies.exercises_by_name(CHAPTER)
    prediction = copy(exercises["softmax"])
    prediction.measure = ORDER
    monkeypatch.setattr(replies, "exercises_by_name", lambda chapter: {**exercises, "softmax": prediction})
    fields = expected[0].to_json()
    result = fields["results"][0]
    result["aspects"][0]["earned"] = earned
    result["earned"] = sum(aspect["earned"] for aspect in result["aspects"])
    if is_possible:
        assert received(fields, expected).results[0].earned == result["earned"]
    else:
        with pytest.raises(replies.NoReport, match="an impossible score for softmax"):
            received(fields, expected)


@pytest.mark.parametrize("field", ["digest", "results", "seconds", "made_from"])
def test_a_report_with_a_missing_field_is_refused(field, expected):
    fields = expected[0].to_json()
    del fields[field]
    with pytest.raises(ValueError, match=field):
        Report.from_json(fields)


@pytest.mark.parametrize("fields", [None, [], "report", 1])
def test_a_value_that_is_not_a_report_is_refused(fields, expected):
    with pytest.raises(replies.NoReport, match="not a report: Expected `object`"):
        received(fields, expected)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"{}", b"\xff", b"[" * 100_000, "{}", None, b'{"failed": 1}'])
def test_a_value_that_is_not_a_reply_is_refused(raw):
    with pytest.raises(replies.NoReport, match="not a reply"):
        replies.decode_answer(future(raw))


@pytest.mark.parametrize("kind", [SandboxUnavailable, MachineTooBusy])
def test_an_unavailable_sandbox_of_a_worker_is_reported(kind):
    def unavailable():
        raise kind("install bubblewrap")

    with pytest.raises(kind, match="^install bubblewrap$"):
        replies.decode_answer(future(replies.call_and_encode(unavailable)))


def test_an_exception_of_a_worker_is_reported_in_words():
    def full():
        raise OSError("disk full")

    with pytest.raises(replies.NoReport, match="^OSError: disk full$"):
        replies.decode_answer(future(replies.call_and_encode(full)))


@pytest.mark.parametrize("error", [NotUnpickled("posix.system"), Exception(b"\x80\x04.")])
def test_a_refused_pickle_is_reported_in_words(error):
    with pytest.raises(replies.NoReport, match="which is not opened on this machine"):
        replies.decode_answer(future(error=error))


def test_an_exception_on_this_machine_passes_through():
    with pytest.raises(OSError, match="disk full"):
        replies.decode_answer(future(error=OSError("disk full")))
