"""nbgrader's exchange as an inbox: accounts of students put folders there, and find their feedback there."""

import tempfile
from html import escape
from pathlib import Path

from autograder.course.lock import alone
from autograder.course.student_ids import why_not_an_id
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.exchange import SECRET, handed_in_at, inbound, release_page, submitter
from autograder.gradebook.submitted_folder import Placed, becomes, place
from autograder.grading.submitted_file import read_file
from autograder.watching.inboxes import Arrival, looks_of


class ExchangeInbox:
    """nbgrader's exchange: folders named STUDENT+CHAPTER+TIME+RANDOM, which students' accounts put there.

    Everybody may put a folder there under any name, so it is its owner's, as for `nbgrader collect`. Nothing but the
    notebook is taken, and no link is followed.
    """

    deep = False
    handed_back = "feedback released"

    def __init__(self, course: Path, chapter: str):
        self._course, self._chapter = course, chapter
        self.folder, self._by_owner = inbound(open_coursedir(course, chapter))

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
                looks = (looks_of(file), looks_of(path / SECRET))
                latest[student] = Arrival(student, name, file, looks, when)
        return list(latest.values()), left

    def bring(self, arrivals):
        coursedir = open_coursedir(self._course, self._chapter)
        placed: dict[str, Placed] = {}
        left: dict[str, str] = {}
        with alone(self._course), tempfile.TemporaryDirectory() as folder:
            for number, arrival in enumerate(arrivals):
                file, path = read_file(arrival.file), Path(folder, str(number))
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
        secret = read_file(arrival.file.with_name(SECRET))
        if not secret.raw:
            return f"it was handed in without nbgrader's {SECRET}, so nobody but you can hand it back"
        release_page(open_coursedir(self._course, self._chapter), arrival.student, page, secret.raw, arrival.when)
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
