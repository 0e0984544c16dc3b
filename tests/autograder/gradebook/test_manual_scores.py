"""Scores and comments that people enter in formgrader are kept and shown."""

import json

import pytest
from nbgrader.apps.api import NbGraderAPI

from autograder.gradebook.coursedir import open_coursedir
from tests.autograder.gradebook.graded_course import exported, graded, open_gradebook, page
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


def grade_by_hand(course, cell, manual_score=None, extra_credit=None):
    """Enter scores, as formgrader's GradeHandler does (nbgrader.server_extensions.formgrader.apihandlers)."""
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade(cell, CHAPTER, CHAPTER, "ada")
        grade = gradebook.find_grade_by_id(grade.id)
        grade.manual_score, grade.extra_credit = manual_score, extra_credit
        grade.needs_manual_grade = grade.manual_score is None and grade.auto_score is None
        gradebook.db.commit()


def comment(course, cell, words):
    """Enter a comment, as formgrader's CommentHandler does."""
    with open_gradebook(course) as gradebook:
        kept_comment = gradebook.find_comment(cell, CHAPTER, CHAPTER, "ada")
        gradebook.find_comment_by_id(kept_comment.id).manual_comment = words
        gradebook.db.commit()


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
    assert f"{score} of 25 points" in html and "4 of 4 points <span" in html and "set by your instructor" in html
    assert "Your instructor writes" in html and "A <strong>fine</strong> idea." in html and "<script" not in html
    return True


def test_the_next_run_shows_manual_scores_without_grading_again(ada, tmp_path):
    row = graded(ada)["ada"]
    assert row.reused and not row.written
    assert is_kept(ada, tmp_path, 21 + 4)


@pytest.mark.thorough("another reason to grade again")
def test_manual_scores_are_kept_with_force(ada, tmp_path):
    graded(ada, force=True)
    assert is_kept(ada, tmp_path, 21 + 4)
    with open_gradebook(ada) as gradebook:
        assert gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "ada").needs_manual_grade


def test_manual_scores_are_kept_after_a_changed_key(ada, tmp_path):
    (ada / "secret_seed").unlink()
    assert graded(ada)["ada"].written
    assert is_kept(ada, tmp_path, 21 + 4)


@pytest.mark.thorough("another reason to grade again")
def test_manual_scores_are_kept_after_a_changed_exercise(ada, tmp_path):
    notebook = ada / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    released = json.loads(notebook.read_text(encoding="utf-8"))
    cell = next(cell for cell in released["cells"] if cell["id"] == "softmax")
    cell["source"] = "# Another stub.\n" + "".join(cell["source"])
    notebook.write_text(json.dumps(released), encoding="utf-8")
    assert graded(ada)["ada"].why == "the release changed"
    assert is_kept(ada, tmp_path, 21 + 4)


@pytest.mark.thorough("another reason to grade again")
def test_manual_scores_are_kept_after_a_resubmission(ada, hand_in, contents, tmp_path):
    hand_in("ada", contents["perfect"])
    graded(ada)
    assert is_kept(ada, tmp_path, 25 - 4 + 3 + 1)


@pytest.mark.thorough("another reason to grade again")
def test_manual_scores_are_kept_after_formgraders_button(ada, tmp_path):
    directory = open_coursedir(ada, CHAPTER)
    formgrader = NbGraderAPI(directory, config=directory.config)
    assert formgrader.autograde(CHAPTER, "ada")["success"]
    assert formgrader.generate_feedback(CHAPTER, "ada")["success"]
    assert is_kept(ada, tmp_path, 21 + 4)


def test_deleted_manual_scores_disappear_from_the_page(ada):
    graded(ada)
    grade_by_hand(ada, "check-softmax")
    comment(ada, "softmax", None)
    graded(ada)
    assert "21 of 25 points" in page(ada)
    assert "set by your instructor" not in page(ada) and "Your instructor writes" not in page(ada)
