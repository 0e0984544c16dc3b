"""Every question to nbgrader's gradebook; nothing here writes."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

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

from autograder.course.comments import FILE as COMMENTS
from autograder.course.comments import keys_in, load_comments
from autograder.course.handout import exercise_of
from autograder.course.regrade_requests import Request
from autograder.course.roster_file import RosterFile, load_roster
from autograder.errors import UserError
from autograder.gradebook.hand_in_times import due_with_extension
from autograder.gradebook.marks import Book, Mark, Marks, score_after_penalty
from autograder.platforms.grade_tables import Column, Grades, Person, Score
from autograder.platforms.known_students import KnownStudent
from check.words import did_you_mean, shown

Scores = dict[str, float | None]


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


def computed_scores(coursedir: CourseDirectory) -> dict[str, Scores]:
    """Return student id -> exercise -> the computed score that the gradebook has for the assignment."""
    scores: dict[str, Scores] = {}
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        rows = cell_query(gradebook, Grade, SubmittedAssignment.student_id, BaseCell.name, Grade.auto_score)
        for student, cell, score in rows.filter(Assignment.name == coursedir.assignment_id):
            scores.setdefault(student, {})[exercise_of(cell)] = score
    return scores


def read_marks(coursedir: CourseDirectory) -> Book:
    """Return all marks of a course, in three queries however large the class is."""
    marks: dict[str, dict[str, Marks]] = defaultdict(lambda: defaultdict(Marks))
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        rows = cell_query(
            *(gradebook, Grade, Assignment.name, SubmittedAssignment.student_id, BaseCell.name, Grade.auto_score),
            *(Grade.manual_score, Grade.extra_credit, SubmittedNotebook.late_submission_penalty),
        )
        for chapter, student, cell, auto, manual, extra, penalty in rows:
            of_student = marks[chapter][student]
            of_student.cells[cell] = Mark(auto, manual, extra)
            of_student.penalty = penalty or 0.0
        students = frozenset(student for (student,) in gradebook.db.query(Student.id))
        points = {chapter: score for chapter, score in gradebook.db.query(Assignment.name, Assignment.max_score)}
    return Book(students, points, marks)


def manual_fingerprints(gradebook: Gradebook, assignment: str) -> dict[str, str]:
    """Return student id -> fingerprint of the scores and comments that instructors gave; no entry if they gave none."""
    given: dict[str, list[list[Any]]] = {}
    for table, columns in ((Grade, [Grade.manual_score, Grade.extra_credit]), (Comment, [Comment.manual_comment])):
        rows = cell_query(gradebook, table, SubmittedAssignment.student_id, BaseCell.name, *columns).filter(
            Assignment.name == assignment, or_(*(column.is_not(None) for column in columns))
        )
        for owner, *values in sorted(rows, key=lambda row: row.name):
            given.setdefault(owner, []).append(values)
    return {owner: _digest(values) for owner, values in given.items()}


def manual_fingerprint(grades: Mapping[str, Grade], comments: Mapping[str, Comment]) -> str:
    """Return the fingerprint in `manual_fingerprints` of one submission, from its rows; empty if there is no entry."""
    values: list[list[Any]] = [[name, row.manual_score, row.extra_credit] for name, row in sorted(grades.items())]
    values += [[name, row.manual_comment] for name, row in sorted(comments.items())]
    given = [value for value in values if any(part is not None for part in value[1:])]
    return _digest(given) if given else ""


def page_fingerprint(
    by_hand: str, comments: Mapping[str, str], notices: Sequence[str], requests: Sequence[Request]
) -> str:
    """Return a fingerprint of what a page shows besides the notebook.

    by_hand: from `manual_fingerprints`. comments: the course's reusable ones, which only what is given by hand can use.
    notices: sentences about the due date, void exercises and attempts.
    """
    parts = (by_hand, by_hand and comments, notices, requests)
    return _digest(parts) if any(parts) else ""


def _digest(parts: Sequence[Any]) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:16]


def unknown_keys(coursedir: CourseDirectory) -> list[str]:
    """Return a line for each key that an instructor's comment uses and the course's reusable comments lack.

    Raises UserError if the reusable comments cannot be read.
    """
    comments = load_comments(Path(coursedir.root))
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        names = (Assignment.name, SubmittedAssignment.student_id, BaseCell.name, Comment.manual_comment)
        rows = cell_query(gradebook, Comment, *names).filter(Comment.manual_comment.is_not(None))
        return [
            f"{chapter}, {shown(student)}, `{cell}`: #{key} is not in {COMMENTS}{did_you_mean(key, comments)}"
            for chapter, student, cell, text in sorted(map(tuple, rows))
            for key in keys_in(text)
            if comments and key not in comments
        ]


def recorded_times(coursedir: CourseDirectory) -> dict[str, datetime]:
    """Return student id -> when the submission was handed in, for those of which the gradebook has the time."""
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        times = handed_in_and_due(gradebook, coursedir.assignment_id)
    return {student: handed_in for student, (handed_in, _) in times.items() if handed_in}


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


def scores_and_penalties(gradebook: Gradebook, assignment: str) -> dict[str, tuple[float, float]]:
    """Return student id -> the score before the penalty for late work, and that penalty."""
    columns = SubmittedAssignment.student_id, SubmittedNotebook.score, SubmittedNotebook.late_submission_penalty
    rows = (
        gradebook.db.query(*columns)
        .select_from(SubmittedNotebook)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(Assignment.name == assignment)
    )
    return {student: (score or 0.0, penalty or 0.0) for student, score, penalty in rows}


def fully_graded(gradebook: Gradebook, chapter: Assignment) -> dict[str, SubmittedAssignment]:
    """Return student id -> submission, for the submissions in which every exercise has a score."""
    unscored = (
        gradebook.db.query(SubmittedNotebook.assignment_id)
        .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
        .filter(Grade.auto_score.is_(None), Grade.manual_score.is_(None))
    )
    submissions = gradebook.db.query(SubmittedAssignment).filter(
        SubmittedAssignment.assignment_id == chapter.id, SubmittedAssignment.id.not_in(unscored)
    )
    return {submission.student_id: submission for submission in submissions}


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
    submissions = [fully_graded(gradebook, chapter) for chapter in wanted]
    return Grades(
        tuple(Column(chapter.name, chapter.duedate, chapter.max_score) for chapter in wanted),
        tuple(
            Person(
                *(student.id, student.last_name, student.first_name, student.email),
                roster.identifiers.get(student.id, {}),
                tuple(_score(of_chapter.get(student.id)) for of_chapter in submissions),
            )
            for student in gradebook.students
            if (not students or student.id in students) and student.id not in roster.withdrawn
        ),
    )


def _score(submission: SubmittedAssignment | None) -> Score | None:
    if submission is None:
        return None
    raw, penalty = submission.score, submission.late_submission_penalty
    final = score_after_penalty(raw, penalty)
    return Score(round(raw, 9), round(penalty, 9), round(final, 9), submission.timestamp)  # 2.6, not 2.59999…


def known_students(coursedir: CourseDirectory) -> list[KnownStudent]:
    """Return the students of the gradebook; a name or an address that it does not have is empty."""
    roster = load_roster(Path(coursedir.root))
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
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


def known_student(coursedir: CourseDirectory, student: str) -> str:
    """Return a student's id. Raises UserError if the gradebook does not have the student."""
    ids = [known.id for known in known_students(coursedir)]
    if student not in ids:
        hint = ids_hint(coursedir, student) or did_you_mean(student, ids)
        raise UserError(f"there is no student {student!r} in the gradebook{hint}")
    return student


def ids_hint(coursedir: CourseDirectory, name: str) -> str:
    """Return the ids of the students with a name, an address or another identifier, as the end of a sentence.

    It is empty if there is no such student, or if the name is an id.
    """
    ids = [
        student.id
        for student in known_students(coursedir)
        if name.casefold() in map(str.casefold, (student.name, student.email, *student.identifiers.values()))
    ]
    return f"; the id of {name} is {' or '.join(ids)}" if ids and name not in ids else ""


def open_gradebook(coursedir: CourseDirectory) -> Gradebook:
    """Return the gradebook of a course, which is a context."""
    return Gradebook(coursedir.db_url, coursedir.course_id)


def due_date(coursedir: CourseDirectory) -> datetime | None:
    """Return when the assignment is due, without extensions; None if it is never due."""
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        return due_date_in(gradebook, coursedir.assignment_id)


def due_date_in(gradebook: Gradebook, assignment: str) -> datetime | None:
    """Return when an assignment is due, without extensions; None if it is never due.

    nbgrader's `Assignment.duedate` also computes the maximum score of the assignment, in a query for each cell.
    """
    return gradebook.db.query(Assignment.duedate).filter(Assignment.name == assignment).scalar()


class RegisteredAssignment(NamedTuple):
    """An assignment in the gradebook: the names of its cells, and its number of submissions."""

    cells: set[str]
    submissions: int


def registered_cells(database: str, assignment: str) -> RegisteredAssignment | None:
    """Return what the gradebook has of an assignment; None if it has nothing."""
    with Gradebook(database) as gradebook:
        try:
            notebook = gradebook.find_notebook(assignment, assignment)
        except MissingEntry:
            return None
        return RegisteredAssignment({cell.name for cell in notebook.source_cells}, len(notebook.submissions))
