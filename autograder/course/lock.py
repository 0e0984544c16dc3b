"""Let only one command at a time write to a course's gradebook."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from autograder.errors import UserError

# Seconds. A process that a killed run was just starting holds the lock a few milliseconds longer than the run.
LOCK_TIMEOUT = 0.5


class Busy(UserError):
    """Another process holds the gradebook; the message says what to do."""


def require_course(course: Path) -> None:
    """Raise UserError if there is no course folder, before a lock makes one or a gradebook fails."""
    if not course.is_dir():
        raise UserError(f"there is no course in {course}")


def is_read_only(course: Path) -> bool:
    """Return whether this process may not write into a course, such as an archive. Then it can hold no lock."""
    return not os.access(course, os.W_OK)


@contextmanager
def course_lock(course: Path) -> Iterator[None]:
    """Hold the lock of a course. The system releases it when the process ends, however it ends.

    nbgrader's own commands take the lock before they begin and, where the best attempt counts, once more for each
    submission. Raises Busy if another command holds it, and UserError if there is no course, because the lock would
    create its folder.
    """
    require_course(course)
    try:
        with FileLock(course / ".lock", timeout=LOCK_TIMEOUT):
            yield
    except Timeout as error:
        raise Busy(f"another command is running in {course}: wait until it has ended") from error
