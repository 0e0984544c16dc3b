"""Forecast each student's score after grading, as an export would show it: what `autograder grade --dry-run` prints."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.course.handout import load_handout
from autograder.gradebook.late_penalty import late_penalty
from autograder.gradebook.marks import Mark, Marks
from autograder.gradebook.queries import read_marks
from autograder.gradebook.rows import StudentRow
from autograder.gradebook.state import ClassState, grading_record
from autograder.gradebook.voids import Voids, load_voids
from autograder.grading.report import Report, Reports


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
        """Whether an export would show something else afterwards."""
        return self.before != self.after or self.points_before != self.points


def forecasts(coursedir: CourseDirectory, rows: Iterable[StudentRow]) -> list[Forecast]:
    """Return what grading would do to the scores of these students, with penalties and scores given by hand."""
    reports = Reports(Path(coursedir.root, "reports", coursedir.assignment_id))
    state, scorer = ClassState(coursedir, reports), Scorer(coursedir)
    voids, of_texts = scorer.voids, scorer.points_of_texts
    forecasts = []
    for row in rows:
        before = scorer.before(row.student)
        late = state.seconds_late(row.student, row.folder)
        after = before if before and not row.why else scorer.after(row.student, row.report, late)
        earlier = reports.find(grading_record(coursedir, row.student).get("report", ""))
        points = scorer.book.points.get(coursedir.assignment_id, voids.maximum(row.report) + of_texts)
        points_before = voids.maximum(earlier) + of_texts if earlier else points
        forecasts.append(Forecast(row.student, before, after, points_before, points, row.why))
    return forecasts


class Scorer:
    """Computes the marks that grading would give to the students of a chapter.

    book: the gradebook as it is now. voids: the chapter's void exercises.
    """

    def __init__(self, coursedir: CourseDirectory) -> None:
        self._coursedir = coursedir
        self.book = read_marks(coursedir)
        self.voids = load_voids(Path(coursedir.root), coursedir.assignment_id)
        self._texts = _points_of_texts(coursedir)

    @property
    def points_of_texts(self) -> float:
        """The points in the maximum that only instructors give."""
        return sum(self.voids.points(cell, points) for cell, points in self._texts.items())

    def before(self, student: str) -> Marks | None:
        """Return a student's marks in the gradebook; None if there are none."""
        return self.book.marks.get(self._coursedir.assignment_id, {}).get(student)

    def after(self, student: str, report: Report, seconds_late: float) -> Marks:
        """Return the marks after grading: computed scores and the penalty are new, what was given by hand stays."""
        marks = _with_report(report, self.before(student), self._texts, self.voids)
        if not seconds_late:
            return marks
        return replace(marks, penalty=late_penalty(self._coursedir, student, marks.raw, seconds_late))


def _points_of_texts(coursedir: CourseDirectory) -> dict[str, float]:
    """Return cell name -> points of the texts that only instructors grade. No report has them."""
    released = load_handout(Path(coursedir.root), coursedir.assignment_id)
    points = {released.grade_id(position): released.points(position) for position in released.editable}
    return {cell: of_cell for cell, of_cell in points.items() if of_cell}


def _with_report(report: Report, before: Marks | None, texts: Mapping[str, float], voids: Voids) -> Marks:
    by_hand = before.cells if before else {}
    cells = {cell: Mark(voids.points(cell, texts[cell]), None, None) for cell in texts if cell in voids.cells}
    cells |= {cell: mark for cell, mark in by_hand.items() if cell in texts}
    for cell, mark in Marks.graded(report, voids).cells.items():
        kept = by_hand.get(cell, mark)
        cells[cell] = Mark(mark.auto, kept.manual, kept.extra)
    return Marks(cells)
