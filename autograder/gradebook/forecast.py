"""Forecast each student's score after grading, as an export would show it: what `autograder grade --dry-run` prints."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.course.handout import load_handout
from autograder.gradebook.late_credit import late_penalty
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
    state = ClassState(coursedir, reports)
    book = read_marks(coursedir)
    marks = book.marks.get(coursedir.assignment_id, {})
    texts = _points_of_texts(coursedir)
    voids = load_voids(Path(coursedir.root), coursedir.assignment_id)
    of_texts = sum(voids.points(cell, points) for cell, points in texts.items())
    forecasts = []
    for row in rows:
        before = marks.get(row.student)
        after = before if before and not row.why else _after(coursedir, row, before, texts, voids, state)
        earlier = reports.find(grading_record(coursedir, row.student).get("report", ""))
        points = book.points.get(coursedir.assignment_id, voids.maximum(row.report) + of_texts)
        points_before = voids.maximum(earlier) + of_texts if earlier else points
        forecasts.append(Forecast(row.student, before, after, points_before, points, row.why))
    return forecasts


def _points_of_texts(coursedir: CourseDirectory) -> dict[str, float]:
    """Return cell name -> points of the texts that only instructors grade. No report has them."""
    released = load_handout(Path(coursedir.root), coursedir.assignment_id)
    points = {released.grade_id(position): released.points(position) for position in released.editable}
    return {cell: of_cell for cell, of_cell in points.items() if of_cell}


def _after(
    coursedir: CourseDirectory,
    row: StudentRow,
    before: Marks | None,
    texts: Mapping[str, float],
    voids: Voids,
    state: ClassState,
) -> Marks:
    """Return the marks after grading: computed scores and the penalty are new, what was given by hand stays."""
    marks = _with_report(row.report, before, texts, voids)
    seconds = state.seconds_late(row.student)
    return replace(marks, penalty=late_penalty(coursedir, row.student, marks.raw, seconds)) if seconds else marks


def _with_report(report: Report, before: Marks | None, texts: Mapping[str, float], voids: Voids) -> Marks:
    by_hand = before.cells if before else {}
    cells = {cell: Mark(voids.points(cell, texts[cell]), None, None) for cell in texts if cell in voids.cells}
    cells |= {cell: mark for cell, mark in by_hand.items() if cell in texts}
    for cell, mark in Marks.graded(report, voids).cells.items():
        kept = by_hand.get(cell, mark)
        cells[cell] = Mark(mark.auto, kept.manual, kept.extra)
    return Marks(cells)
