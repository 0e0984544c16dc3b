"""nbgrader's gradebook, opened often, and held by somebody else at times."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache, partial

from nbgrader import api
from nbgrader.api import Assignment, BaseCell, Comment, Grade, Gradebook, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import create_engine, event, or_
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Query

from autograder.course.lock import Busy

PATIENCE = 30  # seconds to wait for another program that is writing to a SQLite file


@contextmanager
def one_engine() -> Iterator[list[OperationalError]]:
    """While this lasts, the gradebooks that nbgrader opens share one engine, and wait for a locked file.

    nbgrader opens the gradebook nine times for a submission, and to make an engine takes as long as its queries.
    Gives a list that fills with what kept the database from being used; nbgrader turns such errors into others.
    """
    broken: list[OperationalError] = []
    made = api.create_engine
    api.create_engine = lru_cache(partial(_engine, broken))
    try:
        yield broken
    finally:
        api.create_engine = made


@contextmanager
def usable() -> Iterator[None]:
    """`one_engine`, for what needs the gradebook from beginning to end. Raises Busy if it cannot be used."""
    with one_engine() as broken:
        try:
            yield
        except Exception as error:
            if broken:
                raise Busy(why_not(broken[0])) from error
            raise


def why_not(error: OperationalError) -> str:
    """Why the gradebook cannot be used, in plain words, and what to do."""
    said = f"the gradebook cannot be used: {error.orig}"
    if "locked" in str(error.orig):
        said = (
            f"another program has held the gradebook for {PATIENCE} seconds: formgrader, a backup or a database "
            "browser, say; close it"
        )
    return f"{said}. What is graded is kept, and the same command goes on from there."


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


def by_hand(gradebook: Gradebook, assignment: str, student: str | None = None) -> dict[str, str]:
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
    return {student: (at, due and due + (extension or timedelta())) for student, at, due, extension in rows}


def _engine(broken, url, **options):
    waiting = {"connect_args": {"timeout": PATIENCE}} if url.startswith("sqlite") else {}
    engine = create_engine(url, **options, **waiting)

    @event.listens_for(engine, "handle_error")
    def _(context):
        if isinstance(context.sqlalchemy_exception, OperationalError):
            broken.append(context.sqlalchemy_exception)

    return engine
