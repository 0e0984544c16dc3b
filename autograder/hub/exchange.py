"""Use nbgrader's exchange on a machine where students have accounts, and may put hostile files there.

nbgrader itself trusts the name of a submission's folder, follows links with the rights of the instructor, and stops for
all students at the first file that it does not expect.
"""

import errno
import os
import pwd
import shutil
import stat
import tempfile
from datetime import UTC, datetime
from functools import cache
from glob import glob
from pathlib import Path
from typing import Any

from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback
from nbgrader.utils import parse_utc

from autograder.course.regrade_requests import FILE as REQUESTS
from autograder.gradebook.coursedir import quiet_log
from autograder.gradebook.submitted_folder import record_not_read
from autograder.grading.submitted_file import MAX_BYTES, SECRET, NotRead
from autograder.scores.hand_in_times import TIMESTAMP
from check.words import listed, shown


class CollectFromOwners(ExchangeCollect):
    """Collect each submission for the owner of its folder, and only the files that count and have the same owner."""

    def _path_to_record(self, path: str) -> dict[str, Any]:
        folder = Path(path)
        when = handed_in_at(folder.name)
        if not when:
            self.log.warning(
                "%s has no time in its name: any other submission of this student counts before it", shown(folder.name)
            )
        timestamp = when.replace(tzinfo=None) if when else datetime.min
        student = submitter(folder.name, folder.lstat().st_uid, self.check_owner)
        return {"username": student, "filename": folder.name, "timestamp": timestamp}

    def do_copy(self, src: str, dest: str, log: object = None) -> None:
        """Copy the notebook, its time, its secret and regrade requests, if they are regular files of the owner."""
        try:
            folder = os.open(src, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            self.log.error("%s is not collected: %s", shown(src), error.strerror)
            return
        try:
            if submitter(Path(src).name, os.fstat(folder).st_uid, self.check_owner) != Path(dest).parent.name:
                self.log.error("%s is not collected: its owner has changed", shown(src))
                return
            Path(dest).mkdir(parents=True)
            notebook = f"{self.coursedir.assignment_id}.ipynb"
            for name in (notebook, TIMESTAMP, SECRET, REQUESTS):
                try:
                    Path(dest, name).write_bytes(_own_file(folder, name))
                except OSError as error:
                    if name == REQUESTS and error.errno == errno.ENOENT:
                        continue
                    if name == notebook and isinstance(error, _TooLargeError):
                        record_not_read(Path(dest), NotRead(name, error.n_bytes))
                    self.log.error("%s in %s is not collected: %s", name, shown(src), error.strerror or error)
        finally:
            os.close(folder)


class ReleaseFeedbackToOwners(ExchangeReleaseFeedback):
    """Release the pages of students who handed in through the exchange, and log the names of the others."""

    def copy_files(self) -> None:
        pages = map(Path, glob(os.path.join(self.src_path, "*.html")))
        needed = (SECRET, TIMESTAMP)
        without = sorted(
            page.parent.parent.name for page in pages if not all((page.parent / name).exists() for name in needed)
        )
        if without:
            self.log.warning(
                "not released, because these students did not hand in through the exchange: %s",
                listed(map(shown, without)),
            )
        excluded = [self.coursedir.student_id_exclude] if self.coursedir.student_id_exclude else []
        self.coursedir.student_id_exclude = ",".join([*excluded, *without])
        super().copy_files()


def inbound(coursedir: CourseDirectory) -> tuple[Path, bool]:
    """Return the folder where submissions arrive, and whether the owner of a submission is its student."""
    collector = ExchangeCollect(coursedir=coursedir, config=coursedir.config)
    return Path(collector.root, coursedir.course_id, "inbound").resolve(), collector.check_owner


def release_page(coursedir: CourseDirectory, student: str, page: Path, secret: bytes, when: datetime) -> None:
    """Release one page of feedback to a student, by nbgrader's own release.

    Args:
        secret: the secret of the submission, without which `nbgrader fetch_feedback` does not find the page.
        when: the submission was handed in.

    Raises OSError.
    """
    chapter = coursedir.assignment_id
    with tempfile.TemporaryDirectory() as folder, quiet_log() as (log, errors):
        coursedir.feedback_directory, coursedir.student_id = folder, student
        pages = Path(coursedir.format_path(folder, student, chapter))
        pages.mkdir(parents=True)
        shutil.copyfile(page, pages / f"{chapter}.html")
        (pages / SECRET).write_bytes(secret[:1000])
        (pages / TIMESTAMP).write_text(str(when), encoding="utf-8")
        config = coursedir.config
        release = ExchangeReleaseFeedback(
            coursedir=coursedir, authenticator=Authenticator(config=config), config=config
        )
        release.log = log
        try:
            release.start()
        except ExchangeError as error:
            raise OSError((errors or [str(error)])[0]) from error


def submitter(name: str, owner: int, by_owner: bool) -> str:
    """Return the student who handed in a submission's folder: its owner.

    Args:
        name: the folder's name, STUDENT+CHAPTER+TIME+RANDOM.
        owner: the folder's user id.
        by_owner: False if students' ids are not their accounts, `c.ExchangeCollect.check_owner = False`. Then the
            student is the one in the folder's name.
    """
    if not by_owner:
        return name.rsplit("+", 3)[0]  # nbgrader splits it in the same way, so an id may contain plus signs
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return f"uid-{owner}"


@cache  # `autograder watch` asks for every folder every few seconds
def handed_in_at(name: str) -> datetime | None:
    """Return when a submission was handed in, in UTC, from its folder's name; None if the name contains no time."""
    try:
        return parse_utc(name.rsplit("+", 3)[2]).replace(tzinfo=UTC)
    except (IndexError, ValueError, OverflowError):
        return None


class _TooLargeError(OSError):
    """A file is larger than the limit."""

    def __init__(self, n_bytes: int) -> None:
        super().__init__("it is too large")
        self.n_bytes = n_bytes


def _own_file(folder: int, name: str) -> bytes:
    """The bytes of an ordinary file in an open folder, if both have the same owner. Raises OSError."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        if status.st_uid != os.fstat(folder).st_uid:
            raise OSError("it belongs to another account")
        if status.st_size > MAX_BYTES:
            raise _TooLargeError(status.st_size)
        return file.read(MAX_BYTES)
