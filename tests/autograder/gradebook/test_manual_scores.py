"""What people give in formgrader, and what lateness takes, survive and are shown."""

import csv
import json
from datetime import timedelta

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.plugins import CsvExportPlugin

from autograder.gradebook import class_run
from autograder.gradebook.coursedir import open_coursedir
from tests.conftest import CHAPTER

pytestmark = pytest.mark.grading


def graded(course, **options):
    return {row.student: row for row in class_run.grade_class(course, CHAPTER, **options)}


def open_gradebook(course):
    return Gradebook(open_coursedir(course, CHAPTER).db_url)


def page(course, student="ada"):
    return (course / "feedback" / student / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")


def exported(course, tmp_path):
    with open_gradebook(course) as gradebook:
        CsvExportPlugin(to=str(tmp_path / "grades.csv")).export(gradebook)
    with (tmp_path / "grades.csv").open(encoding="utf-8") as lines:
        return {row["student_id"]: row for row in csv.DictReader(lines)}


def grade_by_hand(course, cell, manual_score=None, extra_credit=None):
    """What formgrader's GradeHandler does with the form (nbgrader.server_extensions.formgrader.apihandlers)."""
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade(cell, CHAPTER, CHAPTER, "ada")
        grade = gradebook.find_grade_by_id(grade.id)
        grade.manual_score, grade.extra_credit = manual_score, extra_credit
        grade.needs_manual_grade = grade.manual_score is None and grade.auto_score is None
        gradebook.db.commit()


def comment(course, cell, words):
    """What formgrader's CommentHandler does."""
    with open_gradebook(course) as gradebook:
        found = gradebook.find_comment(cell, CHAPTER, CHAPTER, "ada")
        gradebook.find_comment_by_id(found.id).manual_comment = words
        gradebook.db.commit()


@pytest.fixture
def ada(course, hand_in, contents):
    """A course in which ada's softmax is wrong, and somebody thought better of it: 3 of 4, one extra, a comment."""
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


def test_the_next_run_shows_them_without_grading_again(ada, tmp_path):
    row = graded(ada)["ada"]
    assert row.reused and not row.written
    assert is_kept(ada, tmp_path, 21 + 4)


def test_they_survive_force(ada, tmp_path):
    graded(ada, force=True)
    assert is_kept(ada, tmp_path, 21 + 4)
    with open_gradebook(ada) as gradebook:
        assert gradebook.find_grade("check-softmax", CHAPTER, CHAPTER, "ada").needs_manual_grade


def test_they_survive_a_changed_key(ada, tmp_path):
    (ada / "secret_seed").unlink()
    assert graded(ada)["ada"].written
    assert is_kept(ada, tmp_path, 21 + 4)


def test_they_survive_a_changed_exercise(ada, tmp_path):
    notebook = ada / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    released = json.loads(notebook.read_text(encoding="utf-8"))
    cell = next(cell for cell in released["cells"] if cell["id"] == "softmax")
    cell["source"] = "# Another stub.\n" + "".join(cell["source"])
    notebook.write_text(json.dumps(released), encoding="utf-8")
    assert graded(ada)["ada"].why == "the release changed"
    assert is_kept(ada, tmp_path, 21 + 4)


def test_they_survive_a_resubmission(ada, hand_in, contents, tmp_path):
    hand_in("ada", contents["perfect"])
    graded(ada)
    assert is_kept(ada, tmp_path, 25 - 4 + 3 + 1)


def test_they_survive_formgraders_button(ada, tmp_path):
    directory = open_coursedir(ada, CHAPTER)
    formgrader = NbGraderAPI(directory, config=directory.config)
    assert formgrader.autograde(CHAPTER, "ada")["success"]
    assert formgrader.generate_feedback(CHAPTER, "ada")["success"]
    assert is_kept(ada, tmp_path, 21 + 4)


def test_what_is_taken_back_disappears_from_the_page(ada):
    graded(ada)
    grade_by_hand(ada, "check-softmax")
    comment(ada, "softmax", None)
    graded(ada)
    assert "21 of 25 points" in page(ada)
    assert "set by your instructor" not in page(ada) and "Your instructor writes" not in page(ada)


# ---------------------------------------------------------------------------------------------- lateness

PLUGIN = """
from nbgrader.plugins import LateSubmissionPlugin

class OnePointAnHour(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return total_seconds_late / 3600

c.AssignLatePenalties.plugin_class = OnePointAnHour
"""


@pytest.fixture
def late(course, hand_in, contents):
    """A course with a penalty of one point for each hour; ada is two hours late."""
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(PLUGIN)
    due(course, "2026-02-03 10:00:00 UTC")
    path = hand_in("ada", contents["perfect"])
    (path.parent / "timestamp.txt").write_text("2026-02-03 12:00:00 UTC", encoding="utf-8")
    graded(course)
    return course


def due(course, date):
    """What formgrader's AssignmentHandler does."""
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_assignment(CHAPTER, duedate=date)


def penalty(course):
    with open_gradebook(course) as gradebook:
        return gradebook.find_submission(CHAPTER, "ada").late_submission_penalty


def test_a_late_penalty_lands_in_gradebook_page_and_export(late, tmp_path):
    assert penalty(late) == 2
    assert "23 of 25 points" in page(late) and "Handed in late: 2 points were taken off." in page(late)
    assert float(exported(late, tmp_path)["ada"]["late_submission_penalty"]) == 2


def test_a_late_penalty_is_taken_once(late):
    assert not graded(late)["ada"].written
    graded(late, force=True)
    assert penalty(late) == 2


def test_another_due_date_changes_the_penalty(late):
    due(late, "2026-02-03 11:30:00 UTC")
    row = graded(late)["ada"]
    assert row.reused and row.why == "the due date or the time of handing in changed"
    assert penalty(late) == 0.5 and "24.5 of 25 points" in page(late)
    due(late, "2026-02-04 10:00:00 UTC")
    graded(late)
    assert not penalty(late) and "25 of 25 points" in page(late)


def test_an_extension_changes_the_penalty(late):
    with open_gradebook(late) as gradebook:
        gradebook.find_submission(CHAPTER, "ada").extension = timedelta(hours=1)
        gradebook.db.commit()
    graded(late)
    assert penalty(late) == 1
    assert not graded(late)["ada"].written


def test_the_same_file_handed_in_later_costs_more(late):
    stamp = late / "submitted/ada" / CHAPTER / "timestamp.txt"
    stamp.write_text("2026-02-03 15:00:00 UTC", encoding="utf-8")
    assert graded(late)["ada"].reused
    assert penalty(late) == 5
