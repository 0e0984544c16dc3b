"""nbgrader's exchange as an inbox: students put submissions there, and find their feedback there."""

import tempfile
from collections.abc import Iterable
from datetime import datetime
from html import escape
from pathlib import Path

from autograder.course.lock import course_lock
from autograder.course.regrade_requests import FILE as REQUESTS
from autograder.course.student_ids import reason_to_reject_id
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.submitted_folder import Placement, effect_of, place, place_requests
from autograder.grading.submitted_file import SECRET, read_file
from autograder.hub.exchange import handed_in_at, inbound, release_page, submitter
from autograder.hub.watching.inboxes import Arrival, Inbox, file_state


class ExchangeInbox(Inbox):
    """The inbound folder of nbgrader's exchange, with folders named STUDENT+CHAPTER+TIME+RANDOM.

    Every account can put a folder there under any name, so the student is the owner of the folder, as for `nbgrader
    collect`. Only the notebook is copied, and no link is followed.
    """

    deep = False
    returned = "feedback released"

    def __init__(self, course: Path, chapter: str) -> None:
        self._course, self._chapter = course, chapter
        self.folder, self._by_owner = inbound(open_coursedir(course, chapter))

    def arrivals(self) -> tuple[list[Arrival], dict[str, str]]:
        latest: dict[str, Arrival] = {}
        dated, skipped = self._dated_folders()
        for handed_in, name, path in sorted(dated, reverse=True):
            try:
                owner = path.lstat().st_uid
            except FileNotFoundError:
                skipped[name] = "it is gone"
                continue
            student = submitter(name, owner, self._by_owner)
            if reason := reason_to_reject_id(student):
                skipped[name] = reason
            elif student not in latest:
                file = path / f"{self._chapter}.ipynb"
                state = (file_state(file), file_state(path / SECRET))
                latest[student] = Arrival(student, name, file, state, handed_in, owner)
        return list(latest.values()), skipped

    def collect(self, arrivals: Iterable[Arrival]) -> dict[str, str]:
        coursedir = open_coursedir(self._course, self._chapter)
        placements: dict[str, Placement] = {}
        skipped: dict[str, str] = {}
        requested: dict[str, bytes] = {}
        with course_lock(self._course), tempfile.TemporaryDirectory() as folder:
            for number, arrival in enumerate(arrivals):
                file, path = read_file(arrival.file, arrival.owner), Path(folder, str(number))
                path.write_bytes(file.raw)
                written = arrival.handed_in.timestamp()
                effect = effect_of(path, written, coursedir, arrival.student)
                if file.trouble or effect == "older":
                    skipped[arrival.student] = file.trouble or "older than the submission in the course folder"
                else:
                    requests = read_file(arrival.file.with_name(REQUESTS), arrival.owner)
                    if requests.raw:
                        requested[arrival.student] = requests.raw
                    again = effect == "unchanged" and requests.raw  # a request must not make the notebook late
                    handed_in = None if again else arrival.handed_in.replace(tzinfo=None)
                    placements[arrival.student] = Placement(path, written, effect, handed_in)
            place(placements, coursedir)
            for student, content in requested.items():
                place_requests(content, coursedir, student)
        return skipped

    def return_feedback(self, arrival: Arrival, page: Path) -> str:
        """Release the page in the exchange, where `nbgrader fetch_feedback` looks for it."""
        secret = read_file(arrival.file.with_name(SECRET), arrival.owner)
        if not secret.raw:
            return f"its {SECRET} is missing, so only you can return the feedback"
        coursedir = open_coursedir(self._course, self._chapter)
        release_page(coursedir, arrival.student, page, secret.raw, arrival.handed_in)
        return ""

    def refuse(self, arrival: Arrival, sentence: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "page.html")
            handed_in = f"{arrival.handed_in:%H:%M:%S UTC on %-d %B %Y}"
            text = f"Your submission of {handed_in} was {sentence}"
            page.write_text(_PAGE.format(chapter=escape(self._chapter), text=escape(text)), encoding="utf-8")
            self.return_feedback(arrival, page)

    def _dated_folders(self) -> tuple[list[tuple[datetime, str, Path]], dict[str, str]]:
        """Return the time, name and path of each submission; and name -> reason of each folder without a time."""
        dated: list[tuple[datetime, str, Path]] = []
        skipped: dict[str, str] = {}
        for path in self.folder.iterdir():
            if f"+{self._chapter}+" not in path.name:
                continue
            if handed_in := handed_in_at(path.name):
                dated.append((handed_in, path.name, path))
            else:
                skipped[path.name] = "its name contains no time"
        return dated, skipped


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
