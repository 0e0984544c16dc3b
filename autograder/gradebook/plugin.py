"""Plug-ins for nbgrader, named in nbgrader_config.py, that make it grade through our sandbox and our judge.

`nbgrader autograde`, formgrader's button and `autograder grade` all use them.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution
from traitlets import Enum

from autograder.course.comments import expanded, load_comments
from autograder.course.handout import check_cell
from autograder.course.lock import course_lock
from autograder.course.regrade_requests import load_requests
from autograder.errors import UserError
from autograder.gradebook.attempts import attempts_sentences, which_counts
from autograder.gradebook.deadlines import load_rules, sentences
from autograder.gradebook.exchange import SECRET
from autograder.gradebook.hand_in_times import TIMESTAMP, read_timestamp, seconds_late, timestamp_text
from autograder.gradebook.marks import score_after_penalty
from autograder.gradebook.queries import manual_fingerprint, page_fingerprint
from autograder.gradebook.rebuilding import notebook_text, rebuild
from autograder.gradebook.submission_rows import submission_rows
from autograder.gradebook.voids import load_voids
from autograder.grading.client import connected
from autograder.grading.queue import Graded, GradingQueue, open_queue
from autograder.grading.submitted_file import read_file
from autograder.sandbox import MachineTooBusy
from check.scoring import Result

_SECRET_FORM = re.compile("[0-9a-f]{128}")  # nbgrader's exchange draws one for each submission

Resources = dict[str, Any]


class SubmissionExporter(NotebookExporter):
    """Give nbgrader a clean and graded notebook for each submission, whatever is in the file.

    nbgrader makes one exporter for each run, before it touches the first submission. Then it asks the exporter twice
    for every notebook: as submitted, and as written to `autograded`. The second time, the exporter goes on with the
    notebook that it has. nbconvert would read, copy and validate it several times.
    """

    sandbox = Enum(["bwrap", "none"], "bwrap", help="none gives student code your own rights").tag(config=True)

    parent: Autograde

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.grader = getattr(self.parent, "grader", None) or self._open_grader(self.parent)
        self.parent.coursedir = guarded(self.parent.coursedir)

    def from_filename(self, filename: str, resources: Resources | None = None, **options: Any) -> tuple[Any, Resources]:
        """Return the notebook that nbgrader uses next, as text; a submission's notebook is rebuilt first."""
        path, resources = Path(filename), self._init_resources(resources)
        is_submitted = self._is_submitted(path, resources["nbgrader"])
        if is_submitted:
            graded = self._graded(path)
            self.notebook = rebuild(graded.submission, graded.report, self.grader.assignment.released)
            self._keep_what_nbgrader_needs(path.parent, resources["nbgrader"])
        for preprocessor in self._preprocessors:
            self.notebook, resources = preprocessor(self.notebook, resources)
        # nbgrader soon writes the second text over the first, so the first need not be legible.
        return (json.dumps if is_submitted else notebook_text)(self.notebook) + "\n", resources

    def _graded(self, path: Path) -> Graded:
        """Return a submission with its report. nbgrader asks for each only once, so try a second time here."""
        try:
            return self.grader.graded(path)
        except MachineTooBusy:
            return self.grader.graded(path)

    def _open_grader(self, autograde: Autograde) -> GradingQueue:
        course = autograde.coursedir
        try:
            with course_lock(Path(course.root)), connected() as client:
                grader = open_queue(Path(course.root), course.assignment_id, client, sandbox=self.sandbox)
                grader.try_workers()
            grader.expect(Path(file) for files in autograde.assignments.values() for file in files)
            return grader
        except (UserError, OSError) as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from error

    def _is_submitted(self, path: Path, names: Mapping[str, str]) -> bool:
        course = self.parent.coursedir
        folder = course.format_path(course.submitted_directory, names["student"], names["assignment"])
        return path.parent == Path(folder)

    def _keep_what_nbgrader_needs(self, submitted: Path, names: Mapping[str, str]) -> None:
        """Copy the time, which nbgrader compares, and the exchange's secret, by which the exchange names the page."""
        course = self.parent.coursedir
        timestamp = course.get_existing_timestamp(str(submitted))
        secret = read_file(submitted / SECRET).raw[:200].decode("ascii", "replace").strip()
        kept = {
            TIMESTAMP: timestamp_text(timestamp) if timestamp else "",
            SECRET: secret if _SECRET_FORM.fullmatch(secret) else "",
        }
        graded = Path(course.format_path(course.autograded_directory, names["student"], names["assignment"]))
        for name, text in kept.items():
            if text:
                graded.mkdir(parents=True, exist_ok=True)
                (graded / name).write_text(text, encoding="utf-8")


class SaveScores(NbGraderPreprocessor):
    """Do what nbgrader's SaveAutoGrades does, in one transaction for a submission instead of two for each exercise."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        names = resources["nbgrader"]
        voids = load_voids(Path(self.config.CourseDirectory.root), names["assignment"])
        with Gradebook(names["db_url"]) as gradebook:
            rows = submission_rows(gradebook, names["assignment"], names["student"])
            for cell in nb.cells:
                name = cell.metadata.get("nbgrader", {}).get("grade_id")
                if is_grade(cell):
                    grade = rows.grades[name]
                    grade.auto_score = voids.score(name, *determine_grade(cell))
                    # A score set by hand stays, and formgrader asks the instructor to check it.
                    grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
                if is_solution(cell):
                    rows.comments[name].auto_comment = "No response." if _is_stub(cell) else None
            rows.notebook.late_submission_penalty = None
            rules = load_rules(Path(self.config.CourseDirectory.root), names["assignment"])
            due = rules.due(names["student"], rows.due, rows.submission.extension)
            if due and rows.due and names["student"] in rules.extensions:  # given before there was a submission
                rows.submission.extension = due - rows.due
            late = seconds_late(rows.submission.timestamp, due)
            gradebook.db.commit()
            gradebook.db.expire(rows.notebook, ["score"])
            nb.metadata["autograder"] |= {"late": late, "share": rules.share(late)}
        return nb, resources


class MarkRecorded(NbGraderPreprocessor):
    """Run last, and mark a notebook whose scores are in the gradebook; one that a killed run left has no mark."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        nb.metadata["autograder"]["recorded"] = True
        return nb, resources


class ReadGradebook(NbGraderPreprocessor):
    """Do what nbgrader's GetGrades does, in a few queries for a page instead of two or more for each cell."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            rows = submission_rows(gradebook, names["assignment"], names["student"])
            penalty = rows.notebook.late_submission_penalty or 0.0
            course = Path(self.config.CourseDirectory.root)
            rules = load_rules(course, names["assignment"])
            due = sentences(rows.due, rules, names["student"])
            requests = load_requests(course, names["assignment"]).get(names["student"], [])
            reusable = load_comments(course)
            voids = load_voids(course, names["assignment"])
            counts = which_counts(self.config)
            attempts = attempts_sentences(course, names["student"], names["assignment"], counts)
            results = map(Result.from_json, nb.metadata.autograder.results)
            texts = [cell.metadata.nbgrader for cell in nb.cells if is_grade(cell) and is_solution(cell)]
            resources["feedback"] = {
                "score": score_after_penalty(rows.notebook.score, penalty),
                "points": rows.notebook.max_score,
                "penalty": penalty,
                "grades": rows.grades,
                "comments": {name: expanded(row.manual_comment or "", reusable) for name, row in rows.comments.items()},
                "by_hand": page_fingerprint(
                    manual_fingerprint(rows.grades, rows.comments),
                    reusable,
                    [*due, *voids.sentences, *attempts],
                    requests,
                ),
                "due": due,
                "attempts": attempts,
                "requests": requests,
                "voids": voids,
                "texts": {about.grade_id: about.points for about in texts},
                "results": {check_cell(result.function): result for result in results},
            }
        return nb, resources


class GuardedCourse(CourseDirectory):
    """A course folder from which Autograde copies no other files of a student, and follows no link.

    nbgrader itself follows links, and copies all files into `autograded` and then into the feedback.
    """

    def get_existing_timestamp(self, dest_path: str) -> datetime | None:
        try:
            return read_timestamp(read_file(Path(dest_path, TIMESTAMP)).raw)
        except ValueError:
            self.log.warning("%s: its timestamp.txt holds no time, and is ignored", dest_path)
            return None


def _is_stub(cell: NotebookNode) -> bool:
    return cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)


def guarded(coursedir: CourseDirectory) -> CourseDirectory:
    """Return the same course folder, guarded."""
    values = {name: getattr(coursedir, name) for name in coursedir.trait_names(config=True)}
    return GuardedCourse(parent=coursedir.parent, **values | {"ignore": ["*"]})
