"""Count scores as a course is configured, and write them into the rows of its gradebook."""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook, SubmittedAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import compute_checksum, is_grade, is_solution

from autograder.course.handout import load_handout
from autograder.gradebook.submission_rows import SubmissionRows, marks_of
from autograder.grading.report import Report
from autograder.scores.counted import counted, with_penalty
from autograder.scores.hand_in_times import seconds_late
from autograder.scores.late import LateRules, load_rules
from autograder.scores.marks import Mark, Marks
from autograder.scores.voids import load_voids

NO_RESPONSE = "No response."  # nbgrader's comment on a cell that the student left as it was


class Counting:
    """How the submissions of a chapter count.

    voids: its void exercises. rules: credit for late work, and extensions. texts: cell -> points of the texts that only
    people grade.
    """

    def __init__(self, coursedir: CourseDirectory) -> None:
        course, self.chapter = Path(coursedir.root), coursedir.assignment_id
        self.voids, self.rules = load_voids(course, self.chapter), load_rules(course, self.chapter)
        released = load_handout(course, self.chapter)
        points = {released.grade_id(position): released.points(position) for position in released.editable}
        self.texts = {cell: of_cell for cell, of_cell in points.items() if of_cell is not None}
        configured = AssignLatePenalties(config=coursedir.config)
        configured.assignment_id = self.chapter
        configured.init_plugin()
        self._plugin = configured.plugin_inst
        # A plug-in of the course's own decides alone, even beside steps of `autograder due --late`.
        self._credit = self.rules if type(self._plugin) is LateSubmissionPlugin else LateRules()

    @property
    def points_of_texts(self) -> float:
        """The points that only instructors can give, as they count in the maximum."""
        return sum(self.voids.points(cell, points) for cell, points in self.texts.items())

    def counted(self, student: str, report: Report, by_hand: Mapping[str, Mark], seconds_late: float) -> Marks:
        """Return a student's marks. by_hand: cell -> the mark so far."""
        penalty = partial(self._plugin.late_submission_penalty, student)
        return counted(report, by_hand, self._credit, self.voids, seconds_late, texts=self.texts, penalty=penalty)

    def with_penalty(self, student: str, marks: Marks, seconds_late: float) -> Marks:
        """Return a student's marks with the penalty for being late."""
        return with_penalty(marks, self._credit, seconds_late, partial(self._plugin.late_submission_penalty, student))


def save_scores(rows: SubmissionRows, counting: Counting, student: str, report: Report, notebook: NotebookNode) -> None:
    """Do what nbgrader's SaveAutoGrades and AssignLatePenalties do, and mark the notebook as recorded.

    The caller commits, and only then puts the notebook in place, so a notebook of a killed run has no mark.
    """
    extension = counting.rules.extensions.get(student)
    due = counting.rules.due(student, rows.due, rows.submission.extension)
    if due and rows.due and extension:  # the extension is older than the submission
        rows.submission.extension = due - rows.due
    how_late = seconds_late(rows.submission.timestamp, due)
    so_far = marks_of(rows.grades).cells
    for cell in notebook.cells:
        if is_solution(cell):
            name = cell.metadata.nbgrader.grade_id
            is_stub = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)
            rows.comments[name].auto_comment = NO_RESPONSE if is_stub else None
            if is_grade(cell):
                so_far[name] = Mark(0.0 if is_stub else None, so_far[name].manual, so_far[name].extra)
    marks = counting.counted(student, report, so_far, how_late)
    for name, mark in marks.cells.items():
        rows.grades[name].auto_score = mark.auto
        # A score set by hand stays, and formgrader asks the instructor to check it.
        rows.grades[name].needs_manual_grade = mark.manual is not None or mark.auto is None
    rows.notebook.late_submission_penalty = marks.penalty or None
    notebook.metadata["autograder"] |= {"late": how_late, "share": counting.rules.share(how_late), "recorded": True}


def store_penalties(
    gradebook: Gradebook, coursedir: CourseDirectory, submissions: Iterable[SubmittedAssignment]
) -> None:
    """Compute the penalties of these submissions again, because scores in this session have changed, and commit."""
    counting = Counting(coursedir)
    for submission in submissions:
        for notebook in submission.notebooks:
            marks = marks_of({grade.cell_id: grade for grade in notebook.grades})
            after = counting.with_penalty(submission.student_id, marks, submission.total_seconds_late)
            notebook.late_submission_penalty = after.penalty or None
    gradebook.db.commit()
