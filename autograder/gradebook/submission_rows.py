"""The rows of submissions in the gradebook: made and read for several students at once.

Making or reading them for one student after another takes longer than everything else that grading writes.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from sqlalchemy import insert, select
from sqlalchemy.orm import undefer

from autograder.scores.marks import Mark, Marks


@dataclass(frozen=True)
class SubmissionRows:
    """The rows of one student's submission. grades, comments: name of each cell -> its row.

    due: when the assignment is due, without extensions; None if it is never due.
    """

    submission: SubmittedAssignment
    notebook: SubmittedNotebook
    due: datetime | None
    grades: dict[str, Grade]
    comments: dict[str, Comment]


def marks_of(grades: Mapping[str, Grade], penalty: float | None = None) -> Marks:
    """Return the marks in the rows of one submission."""
    cells = {name: Mark(grade.auto_score, grade.manual_score, grade.extra_credit) for name, grade in grades.items()}
    return Marks(cells, penalty or 0.0)


def record_submissions(gradebook: Gradebook, assignment: str, handed_in: Mapping[str, datetime | None]) -> None:
    """Do what nbgrader's update_or_create_student and update_or_create_submission do, for several students.

    handed_in: student -> when the submission was handed in; None leaves the time as it is.
    """
    db, chapter = gradebook.db, gradebook.find_assignment(assignment)
    known = set(db.scalars(select(Student.id).where(Student.id.in_(handed_in))))
    _insert(gradebook, Student, [{"id": student} for student in handed_in if student not in known])
    earlier = select(SubmittedAssignment).where(
        SubmittedAssignment.assignment_id == chapter.id, SubmittedAssignment.student_id.in_(handed_in)
    )
    recorded = {submission.student_id: submission for submission in db.scalars(earlier)}
    for student, submission in recorded.items():
        submission.timestamp = handed_in[student] or submission.timestamp
    submissions = [
        {"id": new_uuid(), "assignment_id": chapter.id, "student_id": student, "timestamp": time}
        for student, time in handed_in.items()
        if student not in recorded
    ]
    _insert(gradebook, SubmittedAssignment, submissions)
    for notebook in chapter.notebooks:
        notebooks = [
            {"id": new_uuid(), "assignment_id": submission["id"], "notebook_id": notebook.id}
            for submission in submissions
        ]
        _insert(gradebook, SubmittedNotebook, notebooks)
        tasks = notebook.task_cells
        for table, cells in ((Grade, [*notebook.grade_cells, *tasks]), (Comment, [*notebook.solution_cells, *tasks])):
            ids = [(submitted["id"], cell.id) for submitted in notebooks for cell in cells]
            _insert(gradebook, table, [{"notebook_id": submitted, "cell_id": cell} for submitted, cell in ids])


def submission_rows(gradebook: Gradebook, assignment: str, student: str) -> SubmissionRows:
    """Return the rows of a submission. Raises MissingEntry if there are none."""
    if rows := read_rows(gradebook, assignment, [student]).get(student):
        return rows
    raise MissingEntry(f"No such submission: {assignment} for {student}")


def read_rows(gradebook: Gradebook, assignment: str, students: Collection[str]) -> dict[str, SubmissionRows]:
    """Return student -> rows of the submission, as the database has them now."""
    found = (
        gradebook.db.query(SubmittedAssignment, SubmittedNotebook, Assignment.duedate)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(Assignment.name == assignment, Notebook.name == assignment)
        .filter(SubmittedAssignment.student_id.in_(students))
        .options(undefer(SubmittedNotebook.max_score))
        .populate_existing()
        .all()
    )
    cells: dict[Any, dict[str, dict[str, Any]]] = {table: defaultdict(dict) for table in (Grade, Comment)}
    for table, of_notebook in cells.items():
        rows = gradebook.db.query(BaseCell.name, table).select_from(table).join(BaseCell, BaseCell.id == table.cell_id)
        for name, row in rows.filter(
            table.notebook_id.in_([notebook.id for _, notebook, _ in found])
        ).populate_existing():
            of_notebook[row.notebook_id][name] = row
    return {
        submission.student_id: SubmissionRows(
            submission, notebook, due, cells[Grade][notebook.id], cells[Comment][notebook.id]
        )
        for submission, notebook, due in found
    }


def _insert(gradebook: Gradebook, table: type, rows: list[dict[str, Any]]) -> None:
    if rows:
        gradebook.db.execute(insert(table), rows)
