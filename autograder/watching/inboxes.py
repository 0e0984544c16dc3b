"""Where submissions arrive: an inbox in general, and the course's own folder `submitted`."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from autograder.course.student_ids import why_not_an_id
from autograder.grading.queue import handed_in


@dataclass(frozen=True)
class Arrival:
    """A student's latest submission.

    name: what it is called where it arrived. file: the notebook, which may be missing.
    look: sizes and times; as long as they change, somebody is writing. when: it was handed in, in UTC.
    """

    student: str
    name: str
    file: Path
    look: tuple
    when: datetime


class Inbox(Protocol):
    """folder: what to watch, with all below it if `deep`. handed_back: what becomes of feedback, in words."""

    folder: Path
    deep: bool
    handed_back: str

    def arrivals(self) -> tuple[list[Arrival], dict[str, str]]:
        """The latest submission of each student; and name of what is left -> why."""

    def bring(self, arrivals: Iterable[Arrival]) -> dict[str, str]:
        """Put submissions into `course/submitted`; student -> why one stays where it is. Raises Busy, OSError."""

    def hand_back(self, arrival: Arrival, page: Path) -> str:
        """Let the student have a page; why that cannot be, or an empty string. Raises OSError."""

    def refuse(self, arrival: Arrival, sentence: str) -> None:
        """Let the student know why a submission is not graded. Raises OSError."""


class SubmittedFolder:
    """The course folder's own `submitted`, where `autograder collect`, nbgrader or a script put files."""

    deep = True
    handed_back = "feedback written"

    def __init__(self, course: Path, chapter: str):
        self._course, self._chapter = course, chapter
        self.folder = course / "submitted"
        self.folder.mkdir(exist_ok=True)

    def arrivals(self):
        found = handed_in(self._course, self._chapter)
        left = {student: why for student in found if (why := why_not_an_id(student))}
        return [
            Arrival(student, path.name, path, looks, datetime.now(UTC))
            for student, path in found.items()
            if student not in left and (looks := looks_of(path))
        ], left

    def bring(self, arrivals):
        return {}

    def hand_back(self, arrival, page):
        return ""

    def refuse(self, arrival, sentence):
        """Nothing leads from here to the student."""


def looks_of(path):
    """What changes while a file is being written; None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
