"""Forecast each student's score after grading, as an export would show it: what `autograder grade --dry-run` prints."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory

from autograder.gradebook.state import ClassState, grading_record
from autograder.grading.report import Reports
from autograder.scores.marks import Marks
from autograder.scores.rows import StudentRow


@dataclass(frozen=True)
class Forecast:
    """A student's score before and after grading.

    before: None if the gradebook has no score. points_before, points: the maximum then and now.
    why: the reason to write, in plain words; empty if nothing would be written.
    """

    student: str
    before: Marks | None
    after: Marks
    points_before: float
    points: float
    why: str

    @property
    def changes(self) -> bool:
        """Whether an export would differ afterwards."""
        return self.before != self.after or self.points_before != self.points


def forecasts(gradebook: Gradebook, coursedir: CourseDirectory, rows: Iterable[StudentRow]) -> list[Forecast]:
    """Return what grading would do to the scores of these students, with penalties and scores given by hand."""
    reports = Reports(Path(coursedir.root, "reports", coursedir.assignment_id))
    state = ClassState(gradebook, coursedir, reports)
    voids, of_texts = state.counting.voids, state.counting.points_of_texts
    forecasts = []
    for row in rows:
        before = state.marks.get(row.student)
        after = before if before and not row.why else state.after(row.student, row.report, row.folder)
        earlier = reports.find(grading_record(coursedir, row.student).get("report", ""))
        points = state.points if state.points is not None else voids.maximum(row.report) + of_texts
        points_before = voids.maximum(earlier) + of_texts if earlier else points
        forecasts.append(Forecast(row.student, before, after, points_before, points, row.why))
    return forecasts
