"""Log every change of a score: whose, by how much, why, who made it, and when. course/scores.log only grows.

A command that changes scores compares the gradebook with what the log says, before and after its own work. What differs
before is logged as a change by another program, so no change is missing.
"""

import errno
import os
import pwd
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from filelock import FileLock
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import OperationalError

from autograder.course.handout import exercise_of
from autograder.errors import UserError
from autograder.gradebook.queries import read_book
from autograder.scores.marks import Marks

FILE = "scores.log"
LATE = "(late)"
BEGIN = "in the gradebook when the log began"
ELSEWHERE = "outside of autograder: in formgrader, or by another program"

Parts = dict[str, float | None]


@dataclass(frozen=True)
class ScoreChange:
    """One change of a student's score in a chapter.

    when: in UTC. who: an account. before, after: the scores as exports have them, None for no score.
    parts: exercise, or "(late)" for the penalty -> score before and after, for all that changed.
    """

    when: datetime
    who: str
    student: str
    chapter: str
    before: float | None
    after: float | None
    why: str
    parts: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)


def read_changes(course: Path) -> list[ScoreChange]:
    """Return all changes, the oldest first. Raises UserError for a damaged file."""
    path = course / FILE
    if not path.exists():
        return []
    try:
        return [msgspec.json.decode(line, type=ScoreChange) for line in path.read_bytes().splitlines()]
    except msgspec.DecodeError as error:
        raise UserError(f"{path} is damaged ({error}): restore it from a backup, or move it away") from error


def log_changes(
    gradebook: Gradebook, coursedir: CourseDirectory, why: str, reasons: Mapping[str, str], who: str
) -> list[ScoreChange]:
    """Append the changes that the log lacks, and return them.

    Args:
        why: the reason for students who are not in `reasons`.
        reasons: student -> why the score in this coursedir's chapter changed.
    """
    course = Path(coursedir.root)
    with FileLock(course / ".scores.lock"):
        known = _known(read_changes(course))
        book = {
            (student, chapter): marks
            for chapter, of_chapter in read_book(gradebook).marks.items()
            for student, marks in of_chapter.items()
        }
        now = datetime.now(UTC).replace(microsecond=0)
        changes = []
        for student, chapter in {**known, **book}:
            before, parts_before = known.get((student, chapter), (None, {}))
            marks = book.get((student, chapter), Marks())
            parts = _parts(marks)
            if changed := {
                name: (parts_before.get(name), parts.get(name))
                for name in {**parts_before, **parts}
                if parts_before.get(name) != parts.get(name)
            }:
                reason = (reasons.get(student) if chapter == coursedir.assignment_id else None) or why
                after = marks.total if parts else None
                changes.append(ScoreChange(now, who, student, chapter, before, after, reason, changed))
        if changes:
            _append(course / FILE, changes)
    return changes


@contextmanager
def logged_changes(
    gradebook: Gradebook, coursedir: CourseDirectory, why: str, who: str = ""
) -> Iterator[dict[str, str]]:
    """Log the changes that the body makes, even if it fails, and those that other programs made before.

    What the body does not commit is undone.

    Yields a dict into which the body may write student -> reason. who: by default the account of this process.
    """
    reasons: dict[str, str] = {}
    log_changes(gradebook, coursedir, ELSEWHERE if (Path(coursedir.root) / FILE).exists() else BEGIN, {}, "unknown")
    gradebook.db.rollback()  # the body may take a long time, and must not hold a lock
    try:
        yield reasons
    finally:
        # If this cannot be logged now, the next command logs it as a change by another program.
        with suppress(OperationalError, OSError):
            gradebook.db.rollback()
            log_changes(gradebook, coursedir, why, reasons, who or account())


def account() -> str:
    """Return the account that runs this process, and the one that became it with sudo."""
    name = pwd.getpwuid(os.getuid()).pw_name
    return f"{sudo} as {name}" if (sudo := os.environ.get("SUDO_USER")) and sudo != name else name


def _known(changes: list[ScoreChange]) -> dict[tuple[str, str], tuple[float | None, Parts]]:
    """Return student and chapter -> the last score in the log, and its parts."""
    known: dict[tuple[str, str], tuple[float | None, Parts]] = {}
    for change in changes:
        _, parts = known.get((change.student, change.chapter), (None, {}))
        parts = parts | {name: after for name, (_, after) in change.parts.items()}
        known[change.student, change.chapter] = change.after, parts
    return known


def _parts(marks: Marks) -> Parts:
    """Return exercise -> score, for those that have one, and the penalty below zero."""
    scores: Parts = {exercise_of(cell): mark.score for cell, mark in marks.cells.items() if mark.is_graded}
    return scores | ({LATE: -marks.penalty} if marks.penalty else {})


def _append(path: Path, changes: list[ScoreChange]) -> None:
    """Append one line per change, all in one write. Raises OSError if the disk is full, and leaves no half line."""
    lines = b"".join(msgspec.json.encode(change) + b"\n" for change in changes)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with open(descriptor, "ab", buffering=0) as file:
        before = file.tell()
        if file.write(lines) < len(lines):
            file.truncate(before)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(descriptor)
