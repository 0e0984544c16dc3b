"""nbgrader's exchange, on a machine where students have accounts: what they put there is theirs, and may be hostile.

nbgrader believes the name of a submission's folder, follows links as whoever collects, and stops for everybody at the
first thing that is not as it expects.
"""

import os
import pwd
import shutil
import stat
import tempfile
from datetime import UTC, datetime
from functools import cache
from glob import glob
from pathlib import Path

from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback
from nbgrader.utils import parse_utc

from autograder.gradebook.coursedir import quiet_log
from autograder.gradebook.late_work import TIMESTAMP
from autograder.grading.submitted_file import MAX_BYTES
from check.words import listed, shown

SECRET = "submission_secret.txt"  # what nbgrader names a student's feedback after


class CollectFromOwners(ExchangeCollect):
    """Takes a submission for its owner's, and of its files those that count, if they are the owner's too."""

    def _path_to_record(self, path):
        path = Path(path)
        when = handed_in_at(path.name)
        if not when:
            self.log.warning("%s has no time in its name: any other of theirs counts before it", shown(path.name))
        told = when.replace(tzinfo=None) if when else datetime.min
        return {"username": submitter(path, self.check_owner), "filename": path.name, "timestamp": told}

    def do_copy(self, src, dest, log=None):
        """Copy the notebook, its time and its secret; links are not followed, nor are others' files taken."""
        try:
            folder = os.open(src, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            self.log.error("%s is not collected: %s", shown(src), error.strerror)
            return
        try:
            Path(dest).mkdir(parents=True)
            for name in (f"{self.coursedir.assignment_id}.ipynb", TIMESTAMP, SECRET):
                try:
                    Path(dest, name).write_bytes(_own_file(folder, name))
                except OSError as error:
                    self.log.error("%s in %s is not collected: %s", name, shown(src), error.strerror or error)
        finally:
            os.close(folder)


class ReleaseFeedbackToOwners(ExchangeReleaseFeedback):
    """Releases the pages of those who handed in through the exchange, and names the others."""

    def copy_files(self):
        pages = map(Path, glob(os.path.join(self.src_path, "*.html")))
        needed = (SECRET, TIMESTAMP)
        without = sorted(
            page.parent.parent.name for page in pages if not all((page.parent / name).exists() for name in needed)
        )
        if without:
            self.log.warning("not handed in through the exchange, and not released: %s", listed(map(shown, without)))
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


def submitter(folder: Path, by_owner: bool) -> str:
    """Whose a submission's folder is: its owner's, whatever its name says.

    by_owner: False where students' ids are not their accounts, `c.ExchangeCollect.check_owner = False`; then the name
    decides, STUDENT+CHAPTER+TIME+RANDOM. Raises FileNotFoundError.
    """
    number = folder.lstat().st_uid
    if not by_owner:
        return folder.name.rsplit("+", 3)[0]  # nbgrader's way, which leaves the plus signs of an id alone
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"uid-{number}"


@cache  # each look of `autograder watch` asks for all
def handed_in_at(name: str) -> datetime | None:
    """When a submission was handed in, in UTC, as its folder's name says; None if it does not."""
    try:
        return parse_utc(name.rsplit("+", 3)[2]).replace(tzinfo=UTC)
    except (IndexError, ValueError, OverflowError):
        return None


def _own_file(folder, name):
    """The bytes of an ordinary file in an open folder, if both have the same owner. Raises OSError."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no ordinary file")
        if status.st_uid != os.fstat(folder).st_uid:
            raise OSError("it belongs to somebody else")
        if status.st_size > MAX_BYTES:
            raise OSError("it is too large")
        return file.read(MAX_BYTES)
