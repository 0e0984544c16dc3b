"""Open the gradebook, wait while another program holds it, and say so if it stays that way."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbgrader.api import Comment, Grade, Gradebook
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import Dialect, Engine, Index, event
from sqlalchemy.exc import OperationalError

from autograder.course.lock import Busy
from autograder.gradebook.coursedir import no_tracebacks

PATIENCE = 30  # seconds to wait for another program that is writing to a SQLite file

# nbgrader queries the scores and comments of a submission, but indexes them only by cell. Without our indexes, each of
# these queries reads the scores or comments of the whole course.
INDEXES = [Index(f"{table.__tablename__}_of_notebook", table.notebook_id) for table in (Grade, Comment)]


@contextmanager
def watched_engines() -> Iterator[list[OperationalError]]:
    """Let all connections made inside the context wait for a locked file, including those of nbgrader's own commands.

    Yields a list of the errors that make the database unusable, because nbgrader raises others instead.
    """
    errors: list[OperationalError] = []

    def wait(dialect: Dialect, record: Any, arguments: Any, options: dict[str, Any]) -> None:
        if dialect.name == "sqlite":
            options.setdefault("timeout", PATIENCE)

    def note(context: Any) -> None:
        if isinstance(context.sqlalchemy_exception, OperationalError):
            errors.append(context.sqlalchemy_exception)

    listeners: dict[str, Callable[..., None]] = {"do_connect": wait, "handle_error": note}
    for name, listener in listeners.items():
        event.listen(Engine, name, listener)
    try:
        yield errors
    finally:
        for name, listener in listeners.items():
            event.remove(Engine, name, listener)


@contextmanager
def one_transaction(gradebook: Gradebook) -> Iterator[None]:
    """Commit what the body did in the gradebook's session, or undo it if the body raises."""
    try:
        yield
        gradebook.db.commit()
    finally:
        gradebook.db.rollback()  # does nothing after a commit


def open_gradebook(coursedir: CourseDirectory) -> Gradebook:
    """Return the gradebook of a course, for use in a `with` statement."""
    return Gradebook(coursedir.db_url, coursedir.course_id)


@contextmanager
def usable_gradebook(coursedir: CourseDirectory) -> Iterator[Gradebook]:
    """Open the gradebook of a course. Raises Busy if it cannot be used inside the context."""
    with no_tracebacks(), watched_engines() as errors:
        try:
            with open_gradebook(coursedir) as gradebook:
                yield gradebook
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
