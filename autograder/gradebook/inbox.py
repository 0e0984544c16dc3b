"""Where submissions arrive: the course's own folder `submitted`, or nbgrader's exchange."""

import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Protocol

from nbgrader.auth import Authenticator
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseFeedback

from autograder.course.lock import alone
from autograder.course.student_ids import why_not_an_id
from autograder.gradebook.coursedir import open_coursedir, quiet_log
from autograder.gradebook.exchange import SECRET, handed_in_at, submitter
from autograder.gradebook.submitted_folder import Placed, becomes, place
from autograder.grading.queue import handed_in
from autograder.grading.submitted_file import fetch


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


class Submitted:
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
            if student not in left and (looks := _looks(path))
        ], left

    def bring(self, arrivals):
        return {}

    def hand_back(self, arrival, page):
        return ""

    def refuse(self, arrival, sentence):
        """Nothing leads from here to the student."""


class Exchange:
    """nbgrader's exchange: folders named STUDENT+CHAPTER+TIME+RANDOM, which students' accounts put there.

    Everybody may put a folder there under any name, so it is its owner's, as for `nbgrader collect`. Nothing but the
    notebook is taken, and no link is followed.
    """

    deep = False
    handed_back = "feedback released"

    def __init__(self, course: Path, chapter: str):
        self._course, self._chapter = course, chapter
        coursedir = open_coursedir(course, chapter)
        collector = ExchangeCollect(coursedir=coursedir, config=coursedir.config)
        self._by_owner = collector.check_owner
        self.folder = Path(collector.root, coursedir.course_id, "inbound").resolve()

    def arrivals(self):
        latest: dict[str, Arrival] = {}
        left: dict[str, str] = {}
        named = [path for path in self.folder.iterdir() if f"+{self._chapter}+" in path.name]
        dated = []
        for path in named:
            if when := handed_in_at(path.name):
                dated.append((when, path.name, path))
            else:
                left[path.name] = "its name does not say when it was handed in"
        for when, name, path in sorted(dated, reverse=True):
            try:
                student = submitter(path, self._by_owner)
            except FileNotFoundError:
                left[name] = "it is gone"
                continue
            if why := why_not_an_id(student):
                left[name] = why
            elif student not in latest:
                file = path / f"{self._chapter}.ipynb"
                looks = (_looks(file), _looks(path / SECRET))
                latest[student] = Arrival(student, name, file, looks, when)
        return list(latest.values()), left

    def bring(self, arrivals):
        coursedir = open_coursedir(self._course, self._chapter)
        placed: dict[str, Placed] = {}
        left: dict[str, str] = {}
        with alone(self._course), tempfile.TemporaryDirectory() as folder:
            for number, arrival in enumerate(arrivals):
                file, path = fetch(arrival.file), Path(folder, str(number))
                path.write_bytes(file.raw)
                written = arrival.when.timestamp()
                what = becomes(path, written, coursedir, arrival.student)
                if file.trouble or what == "older":
                    left[arrival.student] = file.trouble or "older than the submission that is in the course folder"
                else:
                    when = arrival.when.replace(tzinfo=None)
                    placed[arrival.student] = Placed(path, written, what, when, "nbgrader's exchange")
            place(placed, coursedir, Path(folder, "collected"))
        return left

    def hand_back(self, arrival, page):
        """By nbgrader's own release of feedback, as `nbgrader fetch_feedback` looks for it."""
        secret = fetch(arrival.file.with_name(SECRET))
        if not secret.raw:
            return f"it was handed in without nbgrader's {SECRET}, so nobody but you can hand it back"
        coursedir = open_coursedir(self._course, self._chapter)
        with tempfile.TemporaryDirectory() as folder, quiet_log() as (log, said):
            coursedir.feedback_directory, coursedir.student_id = folder, arrival.student
            pages = Path(coursedir.format_path(folder, arrival.student, self._chapter))
            pages.mkdir(parents=True)
            shutil.copyfile(page, pages / f"{self._chapter}.html")
            (pages / SECRET).write_bytes(secret.raw[:1000])
            (pages / "timestamp.txt").write_text(str(arrival.when), encoding="utf-8")
            config = coursedir.config
            release = ExchangeReleaseFeedback(
                coursedir=coursedir, authenticator=Authenticator(config=config), config=config
            )
            release.log = log
            try:
                release.start()
            except ExchangeError as error:
                raise OSError((said or [str(error)])[0]) from error
        return ""

    def refuse(self, arrival, sentence):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.html")
            when = f"{arrival.when:%H:%M:%S UTC on %-d %B %Y}"
            text = f"What you handed in at {when} is {sentence}"
            page.write_text(_PAGE.format(chapter=escape(self._chapter), text=escape(text)), encoding="utf-8")
            self.hand_back(arrival, page)


_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{chapter}</title>
<h1>{chapter}</h1>
<p>{text}</p>
</html>
"""


def _looks(path):
    """What changes while a file is being written; None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
