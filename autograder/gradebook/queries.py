"""Query nbgrader's gradebook. Nothing here writes."""

from collections import defaultdict
from collections.abc import Collection, Mapping
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
)
from sqlalchemy import or_
from sqlalchemy.orm import Query

from autograder.course.comments import FILE as COMMENTS
from autograder.course.comments import keys_in
from autograder.course.handout import exercise_of
from autograder.course.roster_file import RosterFile
from autograder.platforms.grade_tables import Column, Grades, Person, Score
from autograder.platforms.known_students import KnownStudent
from autograder.scores.hand_in_times import due_with_extension
from autograder.scores.marks import Book, Mark, Marks, rounded
from autograder.scores.notices import digest
from check.words import did_you_mean, shown


def cell_query(gradebook: Gradebook, table: type[Grade] | type[Comment], *columns: Any) -> Query[Any]:
    """Return a query of all scores, or all comments, with the notebook, submission and assignment of each cell."""
    return (
        gradebook.db.query(*columns)
        .select_from(table)
        .join(BaseCell, BaseCell.id == table.cell_id)
        .join(SubmittedNotebook, SubmittedNotebook.id == table.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
    )


def read_book(gradebook: Gradebook, chapter: str = "") -> Book:
    """Return the marks of a course, or of one chapter, in three queries however large the class is."""
    students = frozenset(student for (student,) in gradebook.db.query(Student.id))
    points = {name: score for name, score in gradebook.db.query(Assignment.name, Assignment.max_score)}
    return Book(students, points, _marks(gradebook, chapter))


def _marks(gradebook: Gradebook, only: str = "") -> dict[str, dict[str, Marks]]:
    """Return chapter -> student -> marks."""
    marks: dict[str, dict[str, Marks]] = defaultdict(lambda: defaultdict(Marks))
    rows = cell_query(
        *(gradebook, Grade, Assignment.name, SubmittedAssignment.student_id, BaseCell.name, Grade.auto_score),
        *(Grade.manual_score, Grade.extra_credit, SubmittedNotebook.late_submission_penalty),
    )
    for chapter, student, cell, auto, manual, extra, penalty in rows.filter(Assignment.name == only) if only else rows:
        of_student = marks[chapter][student]
        of_student.cells[cell] = Mark(auto, manual, extra)
        of_student.penalty = penalty or 0.0
    return marks


def manual_digests(gradebook: Gradebook, assignment: str) -> dict[str, str]:
    """Return student id -> digest of the scores and comments that instructors gave; no entry if they gave none."""
    given: dict[str, list[list[Any]]] = {}
    for table, columns in ((Grade, [Grade.manual_score, Grade.extra_credit]), (Comment, [Comment.manual_comment])):
        rows = cell_query(gradebook, table, SubmittedAssignment.student_id, BaseCell.name, *columns).filter(
            Assignment.name == assignment, or_(*(column.is_not(None) for column in columns))
        )
        for owner, *values in sorted(rows, key=lambda row: row.name):
            given.setdefault(owner, []).append(values)
    return {owner: digest(values) for owner, values in given.items()}


def unknown_keys(gradebook: Gradebook, comments: Mapping[str, str]) -> list[str]:
    """Return a line for each key that an instructor's comment uses and the course's reusable comments lack."""
    names = (Assignment.name, SubmittedAssignment.student_id, BaseCell.name, Comment.manual_comment)
    rows = cell_query(gradebook, Comment, *names).filter(Comment.manual_comment.is_not(None))
    return [
        f"{chapter}, {shown(student)}, `{cell}`: #{key} is not in {COMMENTS}{did_you_mean(key, comments)}"
        for chapter, student, cell, text in sorted(map(tuple, rows))
        for key in keys_in(text)
        if comments and key not in comments
    ]


def handed_in_and_due(gradebook: Gradebook, assignment: str) -> dict[str, tuple[datetime | None, datetime | None]]:
    """Return student id -> when the submission was handed in, and when it was due, including an extension."""
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
    return {student: (handed_in, due_with_extension(due, extension)) for student, handed_in, due, extension in rows}


def read_grades(
    gradebook: Gradebook,
    chapters: Collection[str] = (),
    students: Collection[str] = (),
    roster: RosterFile | None = None,
) -> Grades:
    """Return the grades of these students in these chapters; of all if none is named, never of withdrawn students."""
    roster = roster or RosterFile()
    wanted = [chapter for chapter in gradebook.assignments if not chapters or chapter.name in chapters]
    wanted.sort(key=lambda chapter: chapter.name)
    marks = _marks(gradebook)
    scores = [_final_scores(gradebook, marks.get(chapter.name, {}), chapter) for chapter in wanted]
    return Grades(
        tuple(Column(chapter.name, chapter.duedate, chapter.max_score) for chapter in wanted),
        tuple(
            Person(
                *(student.id, student.last_name, student.first_name, student.email),
                roster.identifiers.get(student.id, {}),
                tuple(of_chapter.get(student.id) for of_chapter in scores),
            )
            for student in gradebook.students
            if (not students or student.id in students) and student.id not in roster.withdrawn
        ),
    )


def _final_scores(gradebook: Gradebook, marks: Mapping[str, Marks], chapter: Assignment) -> dict[str, Score]:
    """Return student -> score in a chapter, for the submissions in which every exercise has a score."""
    times = handed_in_and_due(gradebook, chapter.name)
    counted = {cell.name for notebook in chapter.notebooks for cell in notebook.grade_cells if cell.max_score}
    of_each = {student: marks.get(student, Marks()) for student in times}
    return {
        student: Score(
            *(rounded(of.raw), rounded(of.penalty), rounded(of.total), times[student][0]),
            {exercise_of(cell): mark.score for cell, mark in of.cells.items() if cell in counted or mark.score},
        )
        for student, of in of_each.items()
        if all(mark.is_graded for mark in of.cells.values())
    }


def known_students(gradebook: Gradebook, roster: RosterFile) -> list[KnownStudent]:
    """Return the students of the gradebook; a name or an address that it does not have is empty."""
    return [
        KnownStudent(
            student.id,
            " ".join(filter(None, (student.first_name, student.last_name))),
            student.email or "",
            roster.identifiers.get(student.id, {}),
            student.id in roster.withdrawn,
        )
        for student in gradebook.students
    ]


def due_date(gradebook: Gradebook, assignment: str) -> datetime | None:
    """Return when an assignment is due, without extensions; None if it is never due.

    nbgrader's `Assignment.duedate` also computes the maximum score of the assignment, in a query for each cell.
    """
    return gradebook.db.query(Assignment.duedate).filter(Assignment.name == assignment).scalar()


def registered_notebook(gradebook: Gradebook, assignment: str) -> Notebook | None:
    """Return the notebook of an assignment, as the gradebook has it; None if it has none."""
    try:
        return gradebook.find_notebook(assignment, assignment)
    except MissingEntry:
        return None


def submissions_query(gradebook: Gradebook, assignment: str) -> Query[SubmittedAssignment]:
    """Return a query of all submissions of an assignment."""
    return gradebook.db.query(SubmittedAssignment).join(Assignment).filter(Assignment.name == assignment)
