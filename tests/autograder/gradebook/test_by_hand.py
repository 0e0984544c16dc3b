"""A text that only people can grade: released, handed in, graded in formgrader, and shown in feedback and exports."""

import json
import shutil
from dataclasses import replace

import nbformat
import pytest

from autograder.cli.main import main
from autograder.gradebook.queries import read_grades
from autograder.pages.terminal import class_table
from autograder.release.publish import publish
from autograder.scores.marks import Mark, Marks
from autograder.scores.voids import Voids
from tests.autograder.gradebook.graded_course import book, comment, grade_by_hand, graded, open_gradebook, page
from tests.autograder.release.small_repo import CHAPTER, build, by_grade_id

pytestmark = pytest.mark.grading

REPORT = """
## Report

Write it below.

+++ {"tags": ["by-hand"], "name": "report", "points": 8}

**Question:**

**Evidence:**

+++

## Sources
"""
ANSWER = "**Question:** does it *learn*? <script>window.harm = 1</script>"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """Return a course whose chapter asks for a report. Do not change it."""
    repo = build(tmp_path_factory.mktemp("repo"))
    chapter = repo / "chapters" / f"{CHAPTER}.md"
    chapter.write_text(chapter.read_text(encoding="utf-8") + REPORT, encoding="utf-8")
    course = tmp_path_factory.mktemp("course")
    publish(course, repo=repo)
    return course


@pytest.fixture
def course(released, tmp_path):
    return shutil.copytree(released, tmp_path / "course")


def notebook(course):
    return nbformat.read(course / "release" / CHAPTER / f"{CHAPTER}.ipynb", 4)


def hand_in(course, student, answer=None):
    """Write a submission with this answer as the report; without one, the notebook as it was released."""
    written = notebook(course)
    if answer is not None:
        by_grade_id(written)["report"].source = answer
    folder = course / "submitted" / student / CHAPTER
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(written, folder / f"{CHAPTER}.ipynb")


def final_scores(course):
    """Return student -> the score that an exporter writes; None if the submission is not fully graded."""
    with open_gradebook(course) as gradebook:
        return {person.id: person.scores[0] and person.scores[0].final for person in read_grades(gradebook).people}


def test_students_get_a_cell_to_write_in_with_its_text_and_points(released):
    cells = notebook(released).cells
    (i,) = [i for i, cell in enumerate(cells) if cell.metadata.nbgrader.grade_id == "report"]
    cell = cells[i]
    assert cell.cell_type == "markdown" and cell.source == "**Question:**\n\n**Evidence:**"
    about = cell.metadata.nbgrader
    assert (about.grade, about.solution, about.locked, about.points) == (True, True, False, 8)
    assert "editable" not in cell.metadata and "autograder" not in cell.metadata
    assert cells[i - 1].source.endswith("Write it below.") and cells[i + 1].source.startswith("## Sources")
    assert cells[-2].source.endswith("Your instructor grades `report` (8 points) by hand.")


def test_a_report_has_no_score_until_an_instructor_gives_one(course):
    hand_in(course, "ada", ANSWER)
    row = graded(course)["ada"]
    assert not row.report.notes and row.report.points == 22
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("report", CHAPTER, CHAPTER, "ada")
        assert (grade.auto_score, grade.manual_score, grade.needs_manual_grade) == (None, None, True)
        assert gradebook.find_assignment(CHAPTER).max_score == 22 + 8
    assert final_scores(course) == {"ada": None}
    html = page(course)
    assert "0 of 30 points" in html and "not graded yet, 8 points" in html
    assert "Your instructor has not graded <code>report</code> yet, so its 8 points are missing." in html
    assert "does it <em>learn</em>?" in html and "<script" not in html

    grade_by_hand(course, "report", manual_score=6)
    comment(course, "report", "The evidence is one *seed*.")
    assert graded(course)["ada"].reused
    assert final_scores(course) == {"ada": 6}
    html = page(course)
    assert '<code>report</code>: 6 of 8 points <span class="note">set by your instructor' in html
    assert "The evidence is one <em>seed</em>." in html and "not graded yet" not in html and "are missing" not in html
    marks = book(course).marks[CHAPTER]
    assert marks["ada"].differences(row.report, Voids()) == ["`report` graded by hand: 6"]
    heads, _, line = class_table([row], marks).split("\n\n")[0].split("\n")[-3:]
    assert heads.split()[-5:] == ["(by", "hand)", "(with", "by", "hand)"] and line.split()[-2:] == ["6", "6"]


@pytest.mark.thorough("the run itself counts them too")
def test_a_dry_run_counts_the_report_and_its_points(course, capsys):
    hand_in(course, "ada", ANSWER)
    graded(course)
    grade_by_hand(course, "report", manual_score=6)
    graded(course)
    for options in ([], ["--force"]):
        assert main(["grade", CHAPTER, "--course", str(course), "--dry-run", *options]) == 0
        assert "0 students would get a different score, 1 the same" in capsys.readouterr().out
    hand_in(course, "ada", "Something else.")
    main(["grade", CHAPTER, "--course", str(course), "--dry-run"])
    assert "0 students would get a different score, 1 the same" in capsys.readouterr().out


@pytest.mark.thorough("a void and a text are each tested")
def test_a_void_text_waits_for_no_one(course, capsys):
    for student in ("ada", "bob"):
        hand_in(course, student, ANSWER)
    graded(course)
    grade_by_hand(course, "report", manual_score=6)
    for flag, score, points in (("--credit-all", 8, 30), ("--drop", 0, 22)):
        assert main(["void", "report", flag, "--course", str(course)]) == 0
        graded(course, force=True)
        assert final_scores(course) == {"ada": score, "bob": score}
        assert f"{score} of {points} points" in page(course, "bob") and "not graded yet" not in page(course, "bob")
        hand_in(course, "cleo", ANSWER)
        capsys.readouterr()
        main(["grade", CHAPTER, "--course", str(course), "--dry-run"])
        totals = [line.split()[2:] for line in capsys.readouterr().out.splitlines() if " total " in line]
        assert totals == [["none", str(score), "of", str(points)]]
        shutil.rmtree(course / "submitted" / "cleo")
    assert main(["void", "report", "--undo", "--course", str(course)]) == 0
    assert final_scores(course) == {"ada": 6, "bob": None}
    graded(course)
    assert "not graded yet, 8 points" in page(course, "bob") and "6 of 8 points" in page(course)


def test_a_changed_report_keeps_its_score_and_asks_to_be_read_again(course):
    hand_in(course, "ada", ANSWER)
    graded(course)
    grade_by_hand(course, "report", manual_score=6)
    hand_in(course, "ada", "Something else.")
    graded(course)
    with open_gradebook(course) as gradebook:
        grade = gradebook.find_grade("report", CHAPTER, CHAPTER, "ada")
        assert grade.manual_score == 6 and grade.needs_manual_grade
    assert "Something else." in page(course)


def test_a_report_that_was_not_written_has_zero_points(course):
    hand_in(course, "ada")
    graded(course)
    assert final_scores(course) == {"ada": 0}
    assert "<code>report</code>: 0 of 8 points" in page(course)


def test_a_report_that_became_code_is_not_run(course):
    hand_in(course, "ada", "raise SystemExit")
    path = course / "submitted" / "ada" / CHAPTER / f"{CHAPTER}.ipynb"
    content = json.loads(path.read_text(encoding="utf-8"))
    cell = next(cell for cell in content["cells"] if cell["id"] == "report")
    cell |= {"cell_type": "code", "outputs": [], "execution_count": None}
    path.write_text(json.dumps(content), encoding="utf-8")
    report = graded(course)["ada"].report
    assert report.notes == ("The exercise cell of report had become a code cell; it was read as markdown.",)
    assert report.result("softmax").verdict.kind == "blank"  # and not "stopped"


def test_the_class_report_counts_the_points_given_by_hand(course):
    for student, answer in (("ada", ANSWER), ("bob", None)):
        hand_in(course, student, answer)
    graded(course)
    grade_by_hand(course, "report", manual_score=8)
    assert main(["report", CHAPTER, "--course", str(course)]) == 0
    pages = {path.name: path.read_text(encoding="utf-8") for path in (course / "report").rglob("*.html")}
    html = "".join(pages.values())
    assert "of 30 points" in html and "8 of 30 points" in html


def test_late_students_take_one_line_for_each_share(course):
    hand_in(course, "ada", ANSWER)
    row = graded(course)["ada"]
    late = {str(number): Marks({"report": Mark(None, number, None)}, number / 2) for number in range(1, 13)}
    marks = {**late, "none": Marks(penalty=2.0)}
    table = class_table([replace(row, student=student) for student in marks], marks)
    assert "\n  50% from 12 students: 1, 2, 3, 4, 5, 6 and 6 more\n  100% from 1 student: none" in table
    assert "taken off for being late" not in table
