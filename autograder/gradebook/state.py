"""What a class's gradebook and autograded notebooks hold already, and why a submission is to be written again."""

import json
from contextlib import suppress
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory

from autograder.gradebook.late_work import seconds_late
from autograder.gradebook.plugin import guarded
from autograder.gradebook.queries import computed_scores, given_by_hand, times
from autograder.grading.report import Report, Reports

_SAID = {
    "submission": "handed in again",
    "release": "the release changed",
    "seed": "the secret seed changed",
    "exercises": "the exercises changed",
    "solutions": "the solutions changed",
    "grader": "the grader changed",
}


class ClassState:
    """A class as it is recorded.

    scores: student id -> exercise -> the score that was computed for it.
    by_hand: student id -> fingerprint of what people gave, if they did.
    """

    def __init__(self, coursedir: CourseDirectory, reports: Reports):
        self.scores = computed_scores(coursedir)
        with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
            self.by_hand = given_by_hand(gradebook, coursedir.assignment_id)
            self._times = times(gradebook, coursedir.assignment_id)
        self._coursedir, self._reports = guarded(coursedir), reports

    def why(self, student: str, report: Report) -> str:
        """Why this report has to be written, in plain words; empty if all of it is recorded."""
        mark = mark_of(self._coursedir, student)
        if not mark:
            return "new"
        if mark["report"] != report.digest:
            return changes(self._reports.find(mark["report"]), report)
        if not mark["recorded"]:
            return "an earlier run was interrupted"
        if mark["late"] != self._seconds_late(student):
            return "the due date or the time of handing in changed"
        scores = self.scores.get(student, {})
        same = all(scores.get(result.function) == result.earned for result in report.results)
        return "" if same else "the gradebook said something else"

    def _seconds_late(self, student: str) -> float:
        """As nbgrader will count them: the time in timestamp.txt comes before the one that the gradebook has."""
        folder = self._coursedir.format_path("submitted", student, self._coursedir.assignment_id)
        handed_in, due = self._times.get(student, (None, None))
        return seconds_late(self._coursedir.get_existing_timestamp(folder) or handed_in, due)


def mark_of(coursedir: CourseDirectory, student: str) -> dict:
    """What the exporter and MarkRecorded left in a student's autograded notebook; {} if there is none."""
    return _autograded(coursedir, student).get("metadata", {}).get("autograder", {})


def submitted_sources(coursedir: CourseDirectory, student: str) -> dict[str, str]:
    """Exercise -> its cell in a student's autograded notebook; {} if there is none."""
    cells = {
        each["metadata"]["nbgrader"]["grade_id"]: each
        for each in _autograded(coursedir, student).get("cells", ())
        if each["metadata"].get("nbgrader", {}).get("solution")
    }
    return {name: "".join(cell["source"]) for name, cell in cells.items()}


def own_sources(coursedir: CourseDirectory, student: str) -> tuple[str, ...]:
    """The code that a student wrote in cells of their own, in the order of their autograded notebook."""
    cells = _autograded(coursedir, student).get("cells", ())
    own = (each for each in cells if each["cell_type"] == "code" and "nbgrader" not in each["metadata"])
    return tuple("".join(each["source"]) for each in own)


def _autograded(coursedir, student):
    """A student's autograded notebook, as JSON; {} if there is none that can be read."""
    chapter = coursedir.assignment_id
    notebook = Path(coursedir.format_path("autograded", student, chapter), f"{chapter}.ipynb")
    with suppress(OSError, ValueError):
        return json.loads(notebook.read_text(encoding="utf-8"))
    return {}


def changes(earlier: Report | None, report: Report) -> str:
    """What differs between what two reports were made from, in plain words."""
    if earlier is None:
        return "its earlier report is gone"
    before, now = earlier.made_from, report.made_from
    names = [name for name in now if before.get(name) != now[name]]
    return ", ".join(
        _SAID.get(name, f"{name} {before[name]} became {now[name]}") if name in before else f"{name} counts too"
        for name in names
    )
