"""Late work: times of submissions, due dates, and penalties."""

from datetime import datetime, timedelta

import pytest

from autograder.scores import hand_in_times
from autograder.scores.marks import Mark, Marks
from tests.autograder.gradebook.graded_course import (
    exported,
    formgrader_of,
    grade_by_hand,
    graded,
    open_gradebook,
    page,
)
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading

NOON = datetime(2026, 2, 3, 12)
TEN = datetime(2026, 2, 3, 10)

# ------------------------------------------------------------------------------------------------------- the rules


@pytest.mark.parametrize(("platform", "marked_late", "in_table", "due", "expected"), [
    ("moodle", False, TEN, NOON, (TEN, hand_in_times.TABLE)),
    ("canvas", True, TEN, NOON, (TEN, hand_in_times.TABLE)),
    ("moodle", False, None, NOON, (None, hand_in_times.UNKNOWN)),
    ("canvas", False, None, NOON, (NOON, hand_in_times.LATE_LABEL)),
    ("canvas", True, None, NOON, (NOON + timedelta(seconds=1), hand_in_times.LATE_LABEL)),
    ("canvas", True, None, None, (None, hand_in_times.NO_DUE_DATE)),
    ("folders", False, None, NOON, (TEN, hand_in_times.FILE)),
])  # fmt: skip
def test_the_time_of_handing_in(platform, marked_late, in_table, due, expected):
    ten_in_utc = 1_770_112_800.9
    assert hand_in_times.time_handed_in(platform, marked_late, ten_in_utc, in_table, due) == expected


@pytest.mark.parametrize("text", [
    "2026-02-03 12:00:00 UTC", "2026-02-03 12:00:00.000 UTC", "2026-02-03 12:00", "2026-02-03 13:00:00 Europe/Berlin",
    "2026-02-03 07:00:00 EST", "2026-02-03 13:00:00 +0100", "2026-02-03T13:00:00+01:00", "2026-02-03 12:00:00 Nowhere",
])  # fmt: skip
def test_a_timestamp_may_have_a_zone(text):
    assert hand_in_times.read_timestamp(text.encode()) == NOON


def test_seconds_late():
    assert hand_in_times.seconds_late(NOON, TEN) == 7200 and hand_in_times.seconds_late(TEN, NOON) == 0
    assert hand_in_times.seconds_late(None, NOON) == hand_in_times.seconds_late(NOON, None) == 0


def test_an_extension_moves_the_due_date():
    assert hand_in_times.due_with_extension(TEN, timedelta(hours=2)) == NOON
    assert hand_in_times.due_with_extension(TEN, None) == TEN
    assert hand_in_times.due_with_extension(None, timedelta(hours=2)) is None


def test_a_penalty_takes_no_more_than_the_score():
    assert Marks({"a": Mark(25, None, None)}, 2.5).total == 22.5 and Marks({"a": Mark(3, None, None)}, 5).total == 0


def test_a_written_timestamp_is_read_as_it_was():
    assert hand_in_times.read_timestamp(hand_in_times.timestamp_text(NOON).encode()) == NOON
    assert hand_in_times.read_timestamp(b"") is None


@pytest.mark.parametrize("content", [b"yesterday, I think", b"\xff", b"99999999999999999999"])
def test_a_timestamp_without_a_time_is_refused(content):
    with pytest.raises(ValueError):
        hand_in_times.read_timestamp(content)


# ------------------------------------------------------------------------------------------------- a graded course

PLUGIN = """
from nbgrader.plugins import LateSubmissionPlugin

class OnePointAnHour(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return total_seconds_late / 3600

c.AssignLatePenalties.plugin_class = OnePointAnHour
"""


@pytest.fixture
def late(course, hand_in, contents):
    """Make a course with a penalty of one point for each hour, in which ada is two hours late."""
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(PLUGIN)
    due(course, "2026-02-03 10:00:00 UTC")
    path = hand_in("ada", contents["perfect"])
    (path.parent / "timestamp.txt").write_text("2026-02-03 12:00:00 UTC", encoding="utf-8")
    graded(course)
    return course


def due(course, date):
    """Set the due date, as formgrader's AssignmentHandler does."""
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_assignment(CHAPTER, duedate=date)


def penalty(course):
    with open_gradebook(course) as gradebook:
        return gradebook.find_submission(CHAPTER, "ada").late_submission_penalty


def test_a_late_penalty_is_in_gradebook_page_and_export(late, tmp_path):
    assert penalty(late) == 2
    assert "20 of 22 points" in page(late) and "Handed in late: 2 points were taken off." in page(late)
    assert float(exported(late, tmp_path)["ada"]["late_submission_penalty"]) == 2


@pytest.mark.thorough("penalties and manual scores are each tested")
def test_a_lower_manual_score_gives_no_total_below_zero(late, tmp_path):
    """nbgrader limits a penalty to the score at the time. A manual score may be lower."""
    due(late, "2026-02-01 10:00:00 UTC")
    graded(late)
    grade_by_hand(late, "check-softmax", manual_score=0)
    graded(late)
    assert penalty(late) == 18 and float(exported(late, tmp_path)["ada"]["score"]) == 0
    assert ">0 of 22 points" in page(late)


@pytest.fixture
def half(course, hand_in, contents, run):
    """Make a course in which ada's perfect notebook is late, and earns half of its score."""
    path = hand_in("ada", contents["perfect"])
    (path.parent / "timestamp.txt").write_text("2026-02-03 12:00:00 UTC", encoding="utf-8")
    run("due", CHAPTER, "--at", "2026-02-03 10:00+00:00", "--late", "50%", "2026-02-10")
    graded(course)
    return course


def test_a_score_set_by_hand_changes_the_penalty_at_the_next_grading(half, run):
    assert penalty(half) == 11
    grade_by_hand(half, "check-softmax", manual_score=0)
    assert "1 student would get a different score" in run("grade", CHAPTER, "--dry-run")[1]
    row = graded(half)["ada"]
    assert row.reused and row.why == "the penalty for late work changed"
    assert penalty(half) == 9 and "9 of 22 points" in page(half)
    assert not graded(half)["ada"].written


def test_an_answer_with_points_changes_the_penalty_at_once(half, run):
    (half / "submitted/ada" / CHAPTER / "regrade.txt").write_text("softmax: why")
    assert run("answer", "ada", CHAPTER, "softmax", "No.", "--points", "0")[0] == 0
    assert penalty(half) == 9
    assert not graded(half)["ada"].written


def test_a_late_penalty_is_subtracted_once(late):
    assert not graded(late)["ada"].written
    graded(late, force=True)
    assert penalty(late) == 2


@pytest.mark.thorough("an extension changes it in the same way")
def test_another_due_date_changes_the_penalty(late):
    due(late, "2026-02-03 11:30:00 UTC")
    row = graded(late)["ada"]
    assert row.reused and row.why == "the due date or the time of handing in changed"
    assert penalty(late) == 0.5 and "21.5 of 22 points" in page(late)
    due(late, "2026-02-04 10:00:00 UTC")
    graded(late)
    assert not penalty(late) and "22 of 22 points" in page(late)


def test_an_extension_changes_the_penalty(late):
    with open_gradebook(late) as gradebook:
        gradebook.find_submission(CHAPTER, "ada").extension = timedelta(hours=1)
        gradebook.db.commit()
    graded(late)
    assert penalty(late) == 1
    assert not graded(late)["ada"].written


@pytest.mark.thorough("another time, as with an extension")
def test_the_same_file_submitted_later_costs_more(late):
    stamp = late / "submitted/ada" / CHAPTER / "timestamp.txt"
    stamp.write_text("2026-02-03 15:00:00 UTC", encoding="utf-8")
    assert graded(late)["ada"].reused
    assert penalty(late) == 5


def test_a_newer_timestamp_counts_for_nbgrader_and_late_penalties(course, hand_in, contents):
    path = hand_in("ada", contents["perfect"])
    (path.parent / "timestamp.txt").write_text("2026-02-03 10:00:00 UTC")
    graded(course)
    assert formgrader_of(course).get_autograded_students(CHAPTER) == {"ada"}
    assert (course / "autograded/ada" / CHAPTER / "timestamp.txt").read_text().startswith("2026-02-03 10:00:00")
