"""A score is counted in one place: dry run, best attempt, the rows of the gradebook, exports, report and page agree."""

from datetime import datetime, timedelta

import nbformat
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from nbgrader.api import Gradebook

from autograder.course.configuration import set_option
from autograder.course.handout import check_cell, exercise_of, load_handout
from autograder.gradebook.assigning import follow_assignment, refuse_outdated
from autograder.gradebook.best_attempt import Choice, _BestAttempt
from autograder.gradebook.counting import Counting, save_scores, store_penalties
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.deadlines import set_due
from autograder.gradebook.forecast import forecasts
from autograder.gradebook.page_values import page_values
from autograder.gradebook.queries import read_book, read_grades
from autograder.gradebook.state import Autograded, ClassState
from autograder.gradebook.submission_rows import record_submissions, submission_rows
from autograder.gradebook.voiding import points_of_cells, set_kinds
from autograder.grading.queue import Graded
from autograder.grading.report import Report, Reports
from autograder.pages.class_report import entries
from autograder.platforms.grade_tables import canvas_table, csv_table, moodle_table
from autograder.release.publish import publish
from autograder.scores.assigned import NAME
from autograder.scores.hand_in_times import TIMESTAMP, timestamp_text
from autograder.scores.late import Step
from autograder.scores.rows import StudentRow
from autograder.scores.voids import load_voids
from check.scoring import Result
from tests.autograder.gradebook.graded_course import open_gradebook
from tests.autograder.gradebook.test_by_hand import REPORT
from tests.autograder.release.small_repo import CHAPTER, build
from tests.choosing import thinned

pytestmark = pytest.mark.grading
DUE = datetime(2026, 2, 3, 12)
TENTHS = st.integers(0, 40).map(lambda tenths: tenths / 10)  # sums of tenths depend on their order


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return a course whose chapter asks for a report, and in whose gradebook ada's submission has no scores yet."""
    repo, course = build(tmp_path_factory.mktemp("repo")), tmp_path_factory.mktemp("course")
    chapter = repo / "chapters" / f"{CHAPTER}.md"
    chapter.write_text(chapter.read_text(encoding="utf-8") + REPORT, encoding="utf-8")
    publish(course, repo=repo)
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    with open_gradebook(course) as gradebook:
        record_submissions(gradebook, CHAPTER, {"ada": DUE})
        gradebook.db.commit()
    (course / "submitted" / "ada" / CHAPTER).mkdir(parents=True)
    return course


def set_up(gradebook, course, data):
    """Assign a part, void exercises, set the rules for late work, hand in late, and give points by hand, at random."""
    released = load_handout(course, CHAPTER)
    coursedir, cells = open_coursedir(course, CHAPTER), [*map(check_cell, released.graded), "report"]
    assigned = data.draw(st.just(cells) | st.lists(st.sampled_from(cells), min_size=1, unique=True))
    set_kinds(gradebook, coursedir, dict.fromkeys(cells))
    set_option(course, NAME, {CHAPTER: [exercise_of(cell) for cell in assigned]} if assigned is not cells else {})
    coursedir = open_coursedir(course, CHAPTER)
    follow_assignment(gradebook, coursedir)
    refuse_outdated(gradebook, coursedir)
    kinds = data.draw(st.dictionaries(st.sampled_from(assigned), st.sampled_from(["credit-all", "drop"])))
    set_kinds(gradebook, coursedir, kinds)
    shares = sorted(data.draw(st.lists(st.sampled_from([0.9, 0.5, 1 / 3, 0.1]), max_size=2, unique=True)), reverse=True)
    set_due(gradebook, course, CHAPTER, DUE, tuple(Step(share, 100.0 * n) for n, share in enumerate(shares, 1)))
    when = DUE + timedelta(seconds=data.draw(st.integers(-50, 250)))
    (course / "submitted" / "ada" / CHAPTER / TIMESTAMP).write_text(timestamp_text(when), encoding="utf-8")
    for grade in submission_rows(gradebook, CHAPTER, "ada").grades.values():
        grade.auto_score = None  # no score of an earlier report
        grade.manual_score, grade.extra_credit = data.draw(st.none() | TENTHS), data.draw(st.none() | TENTHS)
    gradebook.db.commit()
    results = [
        Result(name, min(data.draw(TENTHS), points), points, (), None, "", (), "")
        for name, position in released.graded.items()
        if (points := released.points(position)) is not None
    ]
    points = points_of_cells(released)
    maximum = sum(points[cell] for cell in assigned if kinds.get(cell) != "drop")
    return when, Report("0" * 64, CHAPTER, "", (), (), tuple(results), 0.0, {"submission": "1"}), maximum


def agree(course, data):
    coursedir = open_coursedir(course, CHAPTER)
    folder = course / "submitted" / "ada" / CHAPTER
    with Gradebook(coursedir.db_url) as gradebook:
        when, report, maximum = set_up(gradebook, course, data)
        row = StudentRow("ada", report, "new", False, False, load_voids(course, CHAPTER))
        (forecast,) = forecasts(gradebook, coursedir, [row])
        state = ClassState(gradebook, coursedir, Reports(course / "reports" / CHAPTER))
        attempt = Choice(folder / f"{CHAPTER}.ipynb", Graded(None, report, False))
        of_attempt = _BestAttempt(coursedir, None, state, False)._score("ada", attempt)

        record_submissions(gradebook, CHAPTER, {"ada": when})
        notebook = nbformat.read(course / "release" / CHAPTER / f"{CHAPTER}.ipynb", 4)
        notebook.metadata["autograder"] = {}
        by_grade_id = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in notebook.cells}
        by_grade_id["report"].source = "An answer that only people can grade."
        save_scores(submission_rows(gradebook, CHAPTER, "ada"), Counting(coursedir), "ada", report, notebook)
        gradebook.db.commit()
        grades = read_grades(gradebook)
        ((exported,),) = (person.scores for person in grades.people)
        ada = gradebook.find_submission(CHAPTER, "ada")
        stored = max(0.0, ada.score - ada.late_submission_penalty)

        total = forecast.after.total
        assert of_attempt == pytest.approx(total, abs=1e-8)
        assert (stored, ada.late_submission_penalty) == pytest.approx((total, forecast.after.penalty), abs=1e-8)
        rows = submission_rows(gradebook, CHAPTER, "ada")
        notebook.metadata["autograder"]["results"] = report.to_json()["results"]
        page = page_values(notebook, rows, state.notices("ada"))
        entry = entries._entry(
            "ada", report, Autograded({}, {}, ()), read_book(gradebook), {}, load_voids(course, CHAPTER)
        )
        assert [page["score"], entry.score] == pytest.approx([total, total], abs=1e-8)
        of_texts = state.counting.points_of_texts
        seen = (forecast.points, row.points + of_texts, ada.max_score, page["points"], entry.points)
        assert {*seen, grades.columns[0].points} == {maximum}
        text = rows.grades["report"]
        if text.auto_score is None and text.manual_score is None:
            assert exported is None
        else:
            seen = (exported.raw, exported.penalty, exported.final)
            assert seen == pytest.approx((ada.score, forecast.after.penalty, total), abs=1e-8)
            names = [exercise_of(cell) for cell in rows.grades]
            line = dict(zip(*csv_table(grades, names), strict=True))
            assert sum(line[name] or 0 for name in names) == pytest.approx(line["raw_score"], abs=1e-8)
            for table in (canvas_table, moodle_table):
                assert [*table(grades)][-1][-1] == line["score"] == exported.final
        store_penalties(gradebook, coursedir, [ada])
        gradebook.db.refresh(ada)
        assert ada.late_submission_penalty == pytest.approx(forecast.after.penalty, abs=1e-8)


@pytest.mark.parametrize("examples", thinned([10, 100], [10], "more random reports"))
def test_dry_run_best_attempt_rows_and_export_agree(course, examples):
    @settings(max_examples=examples, phases=[Phase.generate])  # an example takes too long to shrink it
    @given(st.data())
    def test(data):
        agree(course, data)

    test()
