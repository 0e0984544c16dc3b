"""Scores and comments that people enter in formgrader are kept and shown."""

import pytest

from tests.autograder.gradebook.graded_course import (
    comment,
    exported,
    grade_by_hand,
    graded,
    open_gradebook,
    page,
)
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


@pytest.fixture
def ada(course, hand_in, contents):
    """Return a course in which ada's wrong softmax has a manual score of 3 of 4, an extra point and a comment."""
    hand_in("ada", contents["mistake-1"])
    graded(course)
    grade_by_hand(course, "check-softmax", manual_score=3, extra_credit=1)
    comment(course, "softmax", "A **fine** idea. <script>window.harm = 1</script>")
    return course


def is_kept(course, tmp_path, score):
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "ada")
        assert (grade.manual_score, grade.extra_credit) == (3, 1)
        assert "fine" in gradebook.find_comment("softmax", CHAPTER, CHAPTER, "ada").manual_comment
        assert gradebook.find_submission(CHAPTER, "ada").score == score
    assert float(exported(course, tmp_path)["ada"]["score"]) == score
    html = page(course)
    assert f"{score} of 22 points" in html and "4 of 4 points <span" in html and "set by your instructor" in html
    assert "Your instructor writes" in html and "A <strong>fine</strong> idea." in html and "<script" not in html
    return True


def test_the_next_run_shows_manual_scores_without_grading_again(ada, tmp_path):
    row = graded(ada)["ada"]
    assert row.reused and not row.written
    assert is_kept(ada, tmp_path, 18 + 4)


def test_a_page_with_manual_scores_is_written_one_time(ada):
    graded(ada)
    file = ada / "feedback" / "ada" / CHAPTER / f"{CHAPTER}.html"
    before = file.stat().st_ino
    graded(ada)
    assert file.stat().st_ino == before


def test_manual_scores_are_kept_after_a_changed_key(ada, tmp_path):
    (ada / "secret_seed").unlink()
    assert graded(ada)["ada"].written
    assert is_kept(ada, tmp_path, 18 + 4)
    with open_gradebook(ada) as gradebook:
        assert gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "ada").needs_manual_grade


@pytest.mark.thorough("another reason to grade again")
def test_manual_scores_are_kept_after_a_resubmission(ada, hand_in, contents, tmp_path):
    hand_in("ada", contents["perfect"])
    graded(ada)
    assert is_kept(ada, tmp_path, 22 - 4 + 3 + 1)


def test_deleted_manual_scores_disappear_from_the_page(ada):
    graded(ada)
    grade_by_hand(ada, "check-softmax")
    comment(ada, "softmax", None)
    graded(ada)
    assert "18 of 22 points" in page(ada)
    assert "set by your instructor" not in page(ada) and "Your instructor writes" not in page(ada)
