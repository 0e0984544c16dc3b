"""What the gradebook and the autograded notebooks of a class already record, and why a submission is written again."""

import json
import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat.v4 import to_notebook
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import determine_grade

from autograder.course.comments import load_comments
from autograder.course.handout import exercise_of
from autograder.course.regrade_requests import load_requests
from autograder.gradebook.attempts import attempts_sentences, which_counts
from autograder.gradebook.deadlines import load_rules, sentences
from autograder.gradebook.hand_in_times import seconds_late
from autograder.gradebook.late_penalty import late_penalty
from autograder.gradebook.plugin import guarded
from autograder.gradebook.queries import (
    computed_scores,
    due_date,
    handed_in_and_due,
    manual_fingerprints,
    page_fingerprint,
    scores_and_penalties,
)
from autograder.gradebook.voids import load_voids
from autograder.grading.report import Report, Reports

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
    """What is recorded of a class.

    scores: student id -> exercise -> the computed score.
    """

    def __init__(self, coursedir: CourseDirectory, reports: Reports) -> None:
        self.scores = computed_scores(coursedir)
        with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
            self._by_hand = manual_fingerprints(gradebook, coursedir.assignment_id)
            self._times = handed_in_and_due(gradebook, coursedir.assignment_id)
            self._penalties = scores_and_penalties(gradebook, coursedir.assignment_id)
        self._due = due_date(coursedir)
        self._rules = load_rules(Path(coursedir.root), coursedir.assignment_id)
        self._comments = load_comments(Path(coursedir.root))
        self._requests = load_requests(Path(coursedir.root), coursedir.assignment_id)
        self._voids = load_voids(Path(coursedir.root), coursedir.assignment_id)
        self._counts = which_counts(coursedir.config)
        self._configured, self._coursedir, self._reports = coursedir, guarded(coursedir), reports

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
        if record.get("share", 1.0) != self._rules.share(late):
            return "the credit for late work changed"
        scores = self.scores.get(student, {})
        same = all(scores.get(exercise_of(cell)) == score for cell, score in self._voids.scores(report).items())
        if not same:
            return "the gradebook had another score"
        raw, penalty = self._penalties[student]  # an instructor may have set a score by hand since
        expected = late_penalty(self._configured, student, raw, late) if late else 0.0
        return "" if math.isclose(penalty, expected, abs_tol=1e-9) else "the penalty for late work changed"

    def page(self, student: str) -> str:
        """Return the fingerprint of what a student's page shows besides the notebook."""
        notices = [*sentences(self._due, self._rules, student), *self._voids.sentences]
        course, chapter = Path(self._coursedir.root), self._coursedir.assignment_id
        notices += attempts_sentences(course, student, chapter, self._counts)
        by_hand, requests = self._by_hand.get(student, ""), self._requests.get(student, [])
        return page_fingerprint(by_hand, self._comments, notices, requests)

    def seconds_late(self, student: str, folder: Path | None = None) -> float:
        """Return by how many seconds a submission is late, as nbgrader will count when it is graded.

        The time in timestamp.txt comes before the one that the gradebook has. folder: that of an attempt, by default
        the one in `submitted`.
        """
        submitted = self._coursedir.format_path("submitted", student, self._coursedir.assignment_id)
        handed_in, due = self._times.get(student, (None, self._due))
        if student in self._rules.extensions:
            due = self._rules.due(student, self._due)
        return seconds_late(self._coursedir.get_existing_timestamp(str(folder or submitted)) or handed_in, due)


def grading_record(coursedir: CourseDirectory, student: str) -> dict[str, Any]:
    """Return the metadata that grading wrote into a student's autograded notebook; {} if there is none."""
    return _autograded(coursedir, student).get("metadata", {}).get("autograder", {})


def autograded_score(coursedir: CourseDirectory, student: str, name: str) -> float | None:
    """Return the score that grading computed for a graded cell, as nbgrader reads it from a student's notebook.

    None for a text that only people can grade, and without a notebook, until the student is graded again.
    """
    notebook = _autograded(coursedir, student)
    cells = to_notebook(notebook).cells if notebook else ()  # in the file, a cell's source is a list of lines
    named = (cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)
    return next((determine_grade(cell)[0] for cell in named), None)


@dataclass(frozen=True)
class Autograded:
    """What a student's autograded notebook contains, as it was graded.

    record: the metadata that grading wrote, as of `grading_record`. sources: exercise -> source of its cell.
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
    chapter = coursedir.assignment_id
    notebook = Path(coursedir.format_path("autograded", student, chapter), f"{chapter}.ipynb")
    with suppress(OSError, ValueError):
        return json.loads(notebook.read_text(encoding="utf-8"))
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
