"""One run at a time writes to a course's gradebook."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from autograder.errors import UserError

# Seconds. A process that a run was just starting when it was killed holds its lock a few milliseconds longer.
MOMENT = 0.5


class Busy(UserError):
    """Somebody else holds the gradebook; the message says who, and what to do."""


@contextmanager
def alone(course: Path) -> Iterator[None]:
    """No other command is at work in this course; the lock goes with its process, however that ends.

    nbgrader's own commands ask for it once, before they begin. Raises Busy.
    """
    try:
        with FileLock(course / ".lock", timeout=MOMENT):
            yield
    except Timeout as error:
        raise Busy(f"another run is at work in {course} at this moment: let that end first") from error
