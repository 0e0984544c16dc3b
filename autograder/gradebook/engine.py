"""Open nbgrader's gradebook quickly, and wait while another program holds it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

import sqlalchemy
from nbgrader import api
from nbgrader.api import Comment, Grade, Gradebook
from sqlalchemy import Engine, Index, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session, scoped_session

from autograder.course.lock import Busy
from autograder.gradebook.coursedir import no_tracebacks

PATIENCE = 30  # seconds to wait for another program that is writing to a SQLite file

# nbgrader looks for the scores and comments of a submission, but indexes only those of a cell. Without an index of
# ours, each of these questions reads the scores or comments of the whole course.
INDEXES = [Index(f"{table.__tablename__}_of_notebook", table.notebook_id) for table in (Grade, Comment)]


@contextmanager
def shared_engine() -> Iterator[list[OperationalError]]:
    """Let all gradebooks that nbgrader opens inside the context share one engine, and wait for a locked file.

    nbgrader opens the gradebook several times for a submission. Making an engine takes as long as its queries, and so
    does looking for its tables and its course, for which only the first gradebook looks. Yields a list that collects
    the errors that keep the database from being used, because nbgrader turns them into others.
    """
    errors: list[OperationalError] = []
    opened: dict[tuple[str, str], Gradebook] = {}
    create_engine, open_gradebook = api.create_engine, Gradebook.__init__

    def open_quickly(gradebook: Gradebook, url: str, course: str = "default_course", *authenticator: Any) -> None:
        if first := opened.get((url, course)):
            vars(gradebook).update(vars(first), db=scoped_session(first.db.session_factory))
        else:
            open_gradebook(gradebook, url, course, *authenticator)
            opened[url, course] = gradebook

    api.create_engine = lru_cache(partial(_engine, errors))
    Gradebook.__init__ = open_quickly
    try:
        yield errors
    finally:
        api.create_engine, Gradebook.__init__ = create_engine, open_gradebook


@contextmanager
def one_transaction(url: str, course: str) -> Iterator[Gradebook]:
    """Let all gradebooks opened inside the context share one session, and commit at its end what they did, or nothing.

    Inside, a commit only sends what has changed to the database. Yields the gradebook.
    """
    with Gradebook(url, course) as gradebook, gradebook.engine.begin() as connection:
        session = Session(connection, join_transaction_mode="rollback_only", expire_on_commit=False)
        open_gradebook, close_gradebook = Gradebook.__init__, Gradebook.close

        def join(other: Gradebook, *arguments: Any) -> None:
            vars(other).update(vars(gradebook), db=session)

        Gradebook.__init__, Gradebook.close = join, lambda other: None
        try:
            yield Gradebook(url, course)
        finally:
            Gradebook.__init__, Gradebook.close = open_gradebook, close_gradebook
            session.close()


@contextmanager
def usable_gradebook() -> Iterator[None]:
    """Share one engine inside the context, and raise Busy if the gradebook cannot be used."""
    with no_tracebacks(), shared_engine() as errors:
        try:
            yield
        except Exception as error:
            if errors:
                raise Busy(why_unusable(errors[0])) from error
            raise


def index_rows(gradebook: Gradebook) -> None:
    """Add our indexes to a gradebook that was made without them."""
    for index in INDEXES:
        index.create(gradebook.engine, checkfirst=True)


def why_unusable(error: OperationalError) -> str:
    """Return why the gradebook cannot be used, and what to do about it."""
    reason = f"the gradebook cannot be used: {error.orig}"
    if "locked" in str(error.orig):
        reason = (
            f"another program has held the gradebook for {PATIENCE} seconds, for example formgrader, a backup or a "
            "database browser: close it"
        )
    return f"{reason}. What is graded is kept, and the same command continues from there."


def _engine(errors: list[OperationalError], url: str, **options: Any) -> Engine:
    waiting = {"connect_args": {"timeout": PATIENCE}} if url.startswith("sqlite") else {}
    engine = sqlalchemy.create_engine(url, **options, **waiting)

    @event.listens_for(engine, "handle_error")
    def _(context: Any) -> None:
        if isinstance(context.sqlalchemy_exception, OperationalError):
            errors.append(context.sqlalchemy_exception)

    return engine
