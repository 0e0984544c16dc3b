"""What the gradebook and the autograded notebooks of a class already record, and why a submission is written again."""

import json
import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory

from autograder.gradebook.counting import Counting
from autograder.gradebook.coursedir import student_file
from autograder.gradebook.guarded_course import guarded
from autograder.gradebook.queries import (
    due_date,
    handed_in_and_due,
    manual_digests,
    read_book,
)
from autograder.grading.report import Report, Reports
from autograder.scores.hand_in_times import seconds_late
from autograder.scores.marks import Marks
from autograder.scores.notices import Notices, read_notices
from autograder.scores.which_attempt import which_counts
from check.scoring import Result

HANDED_IN_AGAIN = "handed in again"
_REASONS = {
    "submission": HANDED_IN_AGAIN,
    "release": "the release changed",
    "seed": "the secret seed changed",
    "exercises": "the exercises changed",
    "solutions": "the solutions changed",
    "grader": "the grader changed",
}


class ClassState:
    """What is recorded about a class.

    marks: student id -> the marks in the gradebook. points: the maximum, None if the gradebook does not have it.
    counting: how the chapter counts.
    """

    def __init__(self, gradebook: Gradebook, coursedir: CourseDirectory, reports: Reports) -> None:
        chapter = coursedir.assignment_id
        book = read_book(gradebook, chapter)
        self.marks, self.points = book.marks.get(chapter, {}), book.points.get(chapter)
        self.counting = Counting(coursedir)
        self._by_hand = manual_digests(gradebook, chapter)
        self._times = handed_in_and_due(gradebook, chapter)
        self._due = due_date(gradebook, chapter)
        gradebook.db.rollback()  # grading takes a long time, and must not hold a lock
        counts = which_counts(coursedir.config)
        self._notices = read_notices(Path(coursedir.root), chapter, counts)
        self._coursedir, self._reports = guarded(coursedir), reports

    def why(self, student: str, report: Report, folder: Path | None = None) -> str:
        """Return why this report has to be written, in plain words; empty if all of it is recorded.

        folder: that of the attempt that counts, None for the one in `submitted`.
        """
        record = grading_record(self._coursedir, student)
        if not record:
            return "new"
        if record["report"] != report.digest:
            return changes(self._reports.find(record["report"]), report)
        if not record["recorded"]:
            return "an earlier run was interrupted"
        late = self.seconds_late(student, folder)
        if record["late"] != late:
            return "the due date or the time of handing in changed"
        if record.get("share", 1.0) != self.counting.rules.share(late):
            return "the credit for late work changed"
        before, after = self.marks.get(student, Marks()), self.after(student, report, folder)
        if before.cells != after.cells:
            return "the gradebook had another score"
        # An instructor may have set a score by hand since then.
        same = math.isclose(before.penalty, after.penalty, abs_tol=1e-9)
        return "" if same else "the penalty for late work changed"

    def after(self, student: str, report: Report, folder: Path | None = None) -> Marks:
        """Return the marks that grading gives a student. folder: as for `why`."""
        so_far = self.marks.get(student, Marks()).cells
        return self.counting.counted(student, report, so_far, self.seconds_late(student, folder))

    def notices(self, student: str) -> Notices:
        """Return what a student's page says besides the notebook and its scores."""
        return self._notices(student, self._due, self._by_hand.get(student, ""))

    def seconds_late(self, student: str, folder: Path | None = None) -> float:
        """Return by how many seconds a submission is late, as nbgrader will count when it is graded.

        folder: as for `time_handed_in`.
        """
        _, due = self._times.get(student, (None, self._due))
        if student in self.counting.rules.extensions:
            due = self.counting.rules.due(student, self._due)
        return seconds_late(self.time_handed_in(student, folder), due)

    def time_handed_in(self, student: str, folder: Path | None = None) -> datetime | None:
        """Return the time in timestamp.txt, or else the one that the gradebook has.

        folder: that of an attempt, by default the one in `submitted`.
        """
        folder = folder or student_file(self._coursedir, "submitted", student).parent
        recorded, _ = self._times.get(student, (None, None))
        return self._coursedir.get_existing_timestamp(str(folder)) or recorded


def grading_record(coursedir: CourseDirectory, student: str) -> dict[str, Any]:
    """Return the metadata that grading wrote into a student's autograded notebook; {} if there is none."""
    return _autograded(coursedir, student).get("metadata", {}).get("autograder", {})


def computed_scores(coursedir: CourseDirectory, student: str) -> dict[str, float]:
    """Return exercise -> the score that grading computed; {} without a notebook, until it is graded again."""
    results = map(Result.from_json, grading_record(coursedir, student).get("results", ()))
    return {result.function: min(result.earned, result.points) for result in results}


@dataclass(frozen=True)
class Autograded:
    """What a student's autograded notebook contains, as it was graded.

    record: the metadata that grading wrote, see `grading_record`. sources: exercise -> source of its cell.
    own_sources: the sources of the code cells that the student added, in their order.
    """

    record: dict[str, Any]
    sources: dict[str, str]
    own_sources: tuple[str, ...]


def read_autograded(coursedir: CourseDirectory, student: str) -> Autograded:
    """Return what a student's autograded notebook contains; all of it is empty if there is none."""
    notebook = _autograded(coursedir, student)
    sources, own_sources = {}, []
    for cell in notebook.get("cells", ()):
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            sources[cell["metadata"]["nbgrader"]["grade_id"]] = "".join(cell["source"])
        elif cell["cell_type"] == "code" and "nbgrader" not in cell["metadata"]:
            own_sources.append("".join(cell["source"]))
    return Autograded(notebook.get("metadata", {}).get("autograder", {}), sources, tuple(own_sources))


def _autograded(coursedir: CourseDirectory, student: str) -> dict[str, Any]:
    """Return a student's autograded notebook, as JSON; {} if there is none, or it cannot be read."""
    with suppress(OSError, ValueError):
        return json.loads(student_file(coursedir, "autograded", student).read_text(encoding="utf-8"))
    return {}


def changes(earlier: Report | None, report: Report) -> str:
    """Return what changed in the parts that two reports were made from, in plain words."""
    if earlier is None:
        return "its earlier report is gone"
    before, now = earlier.made_from, report.made_from
    names = [name for name in now if before.get(name) != now[name]]
    return ", ".join(
        _REASONS.get(name, f"{name} {before[name]} became {now[name]}") if name in before else f"{name} counts too"
        for name in names
    )
