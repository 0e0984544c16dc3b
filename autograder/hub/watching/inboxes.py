"""The methods of every place where submissions arrive, and one such place: the course's folder `submitted`."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autograder.course.student_ids import reason_to_reject_id
from autograder.grading.submissions import submitted_files

FileState = tuple[int, int, int]


@dataclass(frozen=True)
class Arrival:
    """A student's latest submission.

    name: its name where it arrived. file: the notebook, which may be missing.
    state: changes while a program writes the submission. handed_in: in UTC.
    owner: user id that the notebook and its folder must belong to; None if they may belong to any.
    """

    student: str
    name: str
    file: Path
    state: tuple[object, ...]
    handed_in: datetime
    owner: int | None = None


class Inbox:
    """A place where submissions arrive.

    folder: the folder to watch, with everything below it if `deep`.
    returned: what happens to feedback, for a printed line.
    """

    folder: Path
    deep: bool
    returned: str

    def arrivals(self) -> tuple[list[Arrival], dict[str, str]]:
        """Return the latest submission of each student; and name -> reason of what is skipped. Raises OSError."""
        raise NotImplementedError

    def collect(self, arrivals: Iterable[Arrival]) -> dict[str, str]:
        """Copy submissions into `course/submitted`; return student -> reason for those not copied.

        Raises Busy, OSError.
        """
        return {}

    def return_feedback(self, arrival: Arrival, page: Path) -> str:
        """Give a page to the student; return why that is impossible, or an empty string. Raises OSError."""
        return ""

    def refuse(self, arrival: Arrival, sentence: str) -> None:
        """Tell the student why a submission is not graded. Raises OSError."""


class SubmittedFolder(Inbox):
    """The course's own folder `submitted`, into which `autograder collect`, nbgrader or a script put files.

    Files need no copying there, and nothing in it reaches the student.
    """

    deep = True
    returned = "feedback written"

    def __init__(self, course: Path, chapter: str) -> None:
        self._course, self._chapter = course, chapter
        self.folder = course / "submitted"
        self.folder.mkdir(exist_ok=True)

    def arrivals(self) -> tuple[list[Arrival], dict[str, str]]:
        files = submitted_files(self._course, self._chapter)
        skipped = {student: reason for student in files if (reason := reason_to_reject_id(student))}
        return [
            Arrival(student, path.name, path, state, datetime.now(UTC))
            for student, path in files.items()
            if student not in skipped and (state := file_state(path))
        ], skipped


def file_state(path: Path) -> FileState | None:
    """Return values that change while a program writes the file; None if there is no file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
