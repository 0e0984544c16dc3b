"""nbgrader's gradebook, opened often, and held by somebody else at times."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial

from nbgrader import api
from sqlalchemy import create_engine, event
from sqlalchemy.exc import OperationalError

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


def _engine(broken, url, **options):
    waiting = {"connect_args": {"timeout": PATIENCE}} if url.startswith("sqlite") else {}
    engine = create_engine(url, **options, **waiting)

    @event.listens_for(engine, "handle_error")
    def _(context):
        if isinstance(context.sqlalchemy_exception, OperationalError):
            broken.append(context.sqlalchemy_exception)

    return engine
