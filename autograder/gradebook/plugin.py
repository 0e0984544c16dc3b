"""Plug-ins for nbgrader, named in nbgrader_config.py, with which it grades in our sandbox and with our judge.

`nbgrader autograde` and formgrader's button use them. They ask the code of `autograder grade`, which needs no plug-in.
"""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum

from autograder.course.lock import course_lock
from autograder.errors import UserError
from autograder.gradebook.assigning import follow_assignment
from autograder.gradebook.best_attempt import Choice, attempt_chooser
from autograder.gradebook.counting import save_scores
from autograder.gradebook.coursedir import student_file
from autograder.gradebook.engine import usable_gradebook
from autograder.gradebook.guarded_course import guarded, keep_time_and_secret
from autograder.gradebook.page_values import page_values
from autograder.gradebook.queries import manual_digests
from autograder.gradebook.rebuilding import notebook_text, rebuild
from autograder.gradebook.state import ClassState
from autograder.gradebook.submission_rows import submission_rows
from autograder.grading.client import connected
from autograder.grading.queue import Graded, open_queue
from autograder.sandbox import MachineTooBusy
from autograder.scores.attempts import restore_attempt
from autograder.scores.notices import read_notices
from autograder.scores.which_attempt import which_counts

Resources = dict[str, Any]


class SubmissionExporter(NotebookExporter):
    """Give nbgrader a clean and graded notebook for each submission, whatever is in the file.

    nbgrader creates one exporter for each run, before it touches the first submission. Then it asks the exporter twice
    for every notebook: as submitted, and as written to `autograded`. The second time, the exporter goes on with the
    notebook that it has. nbconvert would read, copy and validate it several times.
    """

    sandbox = Enum(["bwrap", "none"], "bwrap", help="none gives student code your own rights").tag(config=True)

    parent: Autograde

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.parent.coursedir = guarded(self.parent.coursedir)
        course, autograde = self.parent.coursedir, self.parent
        self._root = Path(course.root)
        try:
            with course_lock(self._root), connected() as client:
                self._grader = open_queue(self._root, course.assignment_id, client, sandbox=self.sandbox)
                self._grader.try_workers()
                with usable_gradebook(course) as gradebook:
                    follow_assignment(gradebook, course)
            self._grader.expect(Path(file) for files in autograde.assignments.values() for file in files)
            with usable_gradebook(course) as gradebook:
                self.state = ClassState(gradebook, course, self._grader.reports)
            self._choose = attempt_chooser(course, self._grader, self.state, keep=True)
            self._keeps_attempts = which_counts(course.config) == "best"
        except (UserError, OSError) as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from error

    def from_filename(self, filename: str, resources: Resources | None = None, **options: Any) -> tuple[Any, Resources]:
        """Return the notebook that nbgrader uses next, as text; a submission's notebook is rebuilt first."""
        path, resources = Path(filename), self._init_resources(resources)
        coursedir, student = self.parent.coursedir, resources["nbgrader"]["student"]
        is_submitted = path.parent == student_file(coursedir, coursedir.submitted_directory, student).parent
        if is_submitted:
            graded = self._attempt(student, path).graded
            self.report = graded.report
            self.notebook = rebuild(graded.submission, graded.report, self._grader.assignment.released)
            autograded = student_file(coursedir, coursedir.autograded_directory, student)
            keep_time_and_secret(coursedir, path.parent, autograded.parent)
        for preprocessor in self._preprocessors:
            self.notebook, resources = preprocessor(self.notebook, resources)
        # nbgrader soon writes the second text over the first, so the first need not be legible.
        return (json.dumps if is_submitted else notebook_text)(self.notebook) + "\n", resources

    def _attempt(self, student: str, path: Path) -> Choice:
        """Return the attempt that counts, which is the submission from now on."""
        latest = self._graded(path)
        try:
            with course_lock(self._root) if self._keeps_attempts else nullcontext():
                try:
                    choice = self._choose(student, path, latest)
                except MachineTooBusy:
                    choice = self._choose(student, path, latest)
                restore_attempt(choice.path, path)
        except (UserError, OSError) as error:
            raise NbGraderException(str(error)) from error
        return choice

    def _graded(self, path: Path) -> Graded:
        """Return a submission with its report. nbgrader asks for each only once, so a busy machine is tried twice."""
        try:
            return self._grader.graded(path)
        except MachineTooBusy:
            return self._grader.graded(path)


class SaveScores(NbGraderPreprocessor):
    """Write the scores of a submission as `autograder grade` does, in one transaction."""

    parent: SubmissionExporter

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        names, exporter = resources["nbgrader"], self.parent
        student, state = names["student"], exporter.state
        with Gradebook(names["db_url"]) as gradebook:
            rows = submission_rows(gradebook, names["assignment"], student)
            rows.submission.timestamp = state.time_handed_in(student)  # nbgrader has that of the latest attempt
            save_scores(rows, state.counting, student, exporter.report, nb)
            gradebook.db.commit()
        return nb, resources


class ReadGradebook(NbGraderPreprocessor):
    """Do what nbgrader's GetGrades does, in a few queries for a page instead of two or more for each cell."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        names, course = resources["nbgrader"], Path(self.config.CourseDirectory.root)
        student, chapter = names["student"], names["assignment"]
        with Gradebook(names["db_url"]) as gradebook:
            rows = submission_rows(gradebook, chapter, student)
            given = manual_digests(gradebook, chapter).get(student, "")
            notices = read_notices(course, chapter, which_counts(self.config))(student, rows.due, given)
            resources["feedback"] = page_values(nb, rows, notices)
        return nb, resources
