"""Every question that is asked of nbgrader's gradebook; nothing here writes."""

import hashlib
from collections import defaultdict
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import or_
from sqlalchemy.orm import Query

from autograder.gradebook.late_work import due_with_extension, score_after_penalty
from autograder.gradebook.marks import Book, Mark, Marks
from autograder.platforms.grade_tables import Column, Grades, Person, Score
from autograder.platforms.student_finder import Known

Scores = dict[str, float | None]


def of_cells(gradebook: Gradebook, table: type[Grade] | type[Comment], *columns) -> Query:
    """A query of all scores, or all comments: one row a cell, with its notebook, submission and assignment."""
    return (
        gradebook.db.query(*columns)
        .select_from(table)
        .join(BaseCell, BaseCell.id == table.cell_id)
        .join(SubmittedNotebook, SubmittedNotebook.id == table.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
    )


def computed_scores(coursedir: CourseDirectory) -> dict[str, Scores]:
    """Student id -> exercise -> the score that was computed for it, as the gradebook has them for the assignment."""
    found: dict[str, Scores] = {}
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        rows = of_cells(gradebook, Grade, SubmittedAssignment.student_id, BaseCell.name, Grade.auto_score)
        for student, cell, score in rows.filter(Assignment.name == coursedir.assignment_id):
            found.setdefault(student, {})[cell.removeprefix("check-")] = score
    return found


def read_marks(coursedir: CourseDirectory) -> Book:
    """All scores of a course, in three queries however large the class is."""
    marks: dict[str, dict[str, Marks]] = defaultdict(lambda: defaultdict(Marks))
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        rows = of_cells(
            *(gradebook, Grade, Assignment.name, SubmittedAssignment.student_id, BaseCell.name, Grade.auto_score),
            *(Grade.manual_score, Grade.extra_credit, SubmittedNotebook.late_submission_penalty),
        )
        for chapter, student, cell, auto, manual, extra, penalty in rows:
            of_student = marks[chapter][student]
            of_student.cells[cell] = Mark(auto, manual, extra)
            of_student.penalty = penalty or 0.0
        students = frozenset(name for (name,) in gradebook.db.query(Student.id))
        points = {name: score for name, score in gradebook.db.query(Assignment.name, Assignment.max_score)}
    return Book(students, points, marks)


def given_by_hand(gradebook: Gradebook, assignment: str, student: str | None = None) -> dict[str, str]:
    """Student id -> fingerprint of the scores and comments that people gave; who was given none is not in it."""
    given: dict[str, list] = {}
    for table, columns in ((Grade, [Grade.manual_score, Grade.extra_credit]), (Comment, [Comment.manual_comment])):
        rows = (
            of_cells(gradebook, table, SubmittedAssignment.student_id, BaseCell.name, *columns)
            .filter(Assignment.name == assignment, or_(*(column.is_not(None) for column in columns)))
            .order_by(BaseCell.name)
        )
        for whose, *what in rows.filter(SubmittedAssignment.student_id == student) if student else rows:
            given.setdefault(whose, []).append(what)
    return {whose: hashlib.sha256(repr(what).encode()).hexdigest()[:16] for whose, what in given.items()}


def times(gradebook: Gradebook, assignment: str) -> dict[str, tuple[datetime | None, datetime | None]]:
    """Student id -> when the submission was handed in, and when it was due, extensions included."""
    rows = (
        gradebook.db.query(
            SubmittedAssignment.student_id,
            SubmittedAssignment.timestamp,
            Assignment.duedate,
            SubmittedAssignment.extension,
        )
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(Assignment.name == assignment)
    )
    return {student: (at, due_with_extension(due, extension)) for student, at, due, extension in rows}


def by_cell(gradebook: Gradebook, notebook: SubmittedNotebook, table: type[Grade] | type[Comment]) -> dict[str, object]:
    """Name of each cell -> its row of a table, for one submitted notebook."""
    rows = gradebook.db.query(BaseCell.name, table).select_from(table).join(BaseCell, BaseCell.id == table.cell_id)
    return dict(map(tuple, rows.filter(table.notebook_id == notebook.id)))


def wholly_graded(gradebook: Gradebook, chapter: Assignment) -> dict[str, SubmittedAssignment]:
    """Student id -> submission, for those in which every exercise has a score."""
    unscored = (
        gradebook.db.query(SubmittedNotebook.assignment_id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .filter(Grade.auto_score.is_(None), Grade.manual_score.is_(None))
    )
    found = gradebook.db.query(SubmittedAssignment).filter(
        SubmittedAssignment.assignment_id == chapter.id, SubmittedAssignment.id.not_in(unscored)
    )
    return {each.student_id: each for each in found}


def read_grades(gradebook: Gradebook, chapters: Collection[str] = (), students: Collection[str] = ()) -> Grades:
    """The scores in these chapters of these students; all there are where none is named."""
    wanted = [each for each in gradebook.assignments if not chapters or each.name in chapters]
    submissions = [wholly_graded(gradebook, each) for each in wanted]
    return Grades(
        tuple(Column(each.name, each.duedate, each.max_score) for each in wanted),
        tuple(
            Person(
                *(each.id, each.last_name, each.first_name, each.email),
                tuple(_score(of_chapter.get(each.id)) for of_chapter in submissions),
            )
            for each in gradebook.students
            if not students or each.id in students
        ),
    )


def _score(submission):
    if submission is None:
        return None
    raw, penalty = submission.score, submission.late_submission_penalty
    return Score(raw, penalty, score_after_penalty(raw, penalty), submission.timestamp)


def roster(coursedir: CourseDirectory) -> list[Known]:
    """The students of the gradebook, with their names and addresses where it has them."""
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        return [
            Known(each.id, " ".join(filter(None, (each.first_name, each.last_name))), each.email or "")
            for each in gradebook.students
        ]


def due_date(coursedir: CourseDirectory) -> datetime | None:
    """When the assignment is due, extensions apart; None if it never is."""
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        return gradebook.db.query(Assignment.duedate).filter(Assignment.name == coursedir.assignment_id).scalar()


class Registered(NamedTuple):
    """An assignment as the gradebook knows it: its cells, and how many submissions there are."""

    cells: set[str]
    submissions: int


def registered_cells(database: str, assignment: str) -> Registered | None:
    """What the gradebook has of an assignment; None if it is not in it."""
    with Gradebook(database) as gradebook:
        try:
            notebook = gradebook.find_notebook(assignment, assignment)
        except MissingEntry:
            return None
        return Registered({cell.name for cell in notebook.source_cells}, len(notebook.submissions))
