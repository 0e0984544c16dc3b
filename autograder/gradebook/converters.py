"""Write a batch of submissions with nbgrader's own Autograde and GenerateFeedback, in one transaction.

Autograded notebooks and feedback pages are put in place after the commit. Until then, a notebook of the batch lacks the
mark that its scores are recorded, so after a kill the next run writes the submission again.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import Any

from nbconvert.writers import FilesWriter
from nbformat.notebooknode import NotebookNode
from nbgrader.converters import Autograde, GenerateFeedback, NbGraderException
from nbgrader.converters.base import BaseConverter
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import rmtree
from sqlalchemy.exc import OperationalError

from autograder.gradebook.engine import one_transaction
from autograder.gradebook.submission_rows import read_ahead, record_submissions
from autograder.grading.assignment import Assignment
from autograder.grading.queue import Graded
from check.words import shown


@dataclass(frozen=True)
class ToWrite:
    """A graded submission. path: the submitted file. by_hand: fingerprint of what instructors gave, as pages have it.

    changed: whether the scores have to be written. If not, the page may still be out of date.
    """

    student: str
    path: Path
    graded: Graded
    by_hand: str
    changed: bool


class Writer:
    """nbgrader's two converters, each opened once.

    Args:
        logged: the errors that `log` collects.
        unusable: the errors that keep the gradebook from being used.
    """

    def __init__(
        self,
        coursedir: CourseDirectory,
        assignment: Assignment,
        log: Logger,
        logged: list[str],
        unusable: Sequence[OperationalError],
    ) -> None:
        self._coursedir, self._logged, self._unusable = coursedir, logged, unusable
        self._autograde = _Autograde(coursedir=coursedir, config=coursedir.config, log=log, force=True)
        self._autograde.grader = self._batch = _Batch(assignment)
        self._feedback = _Feedback(coursedir=coursedir, config=coursedir.config, log=log, force=True)
        for converter in (self._autograde, self._feedback):
            _open(converter)

    def write(self, batch: Sequence[ToWrite]) -> dict[str, str]:
        """Update the scores that changed, and the pages that are out of date; return student -> why that failed.

        If the batch fails as a whole, each submission is written alone, so that none keeps others from being written.
        """
        batch = [submission for submission in batch if submission.changed or not self._is_current(submission)]
        self._logged.clear()
        try:
            self._commit(batch)
        except Exception as error:
            if len(batch) == 1 or self._unusable:
                return {submission.student: self.reason(error) for submission in batch}
            return {student: why for submission in batch for student, why in self.write([submission]).items()}
        failed = {}
        for submission in batch:
            try:
                self._put_in_place(submission)
            except Exception as error:
                failed[submission.student] = self.reason(error)
        return failed

    def reason(self, error: Exception) -> str:
        """Return why a submission failed, in one line; nbgrader logs the traceback, and raises a general exception."""
        if isinstance(error, NbGraderException):
            return shown((self._logged or [str(error)])[0].strip().splitlines()[-1], 500)
        return shown(f"{type(error).__name__}: {error}", 500)

    def _commit(self, batch: Sequence[ToWrite]) -> None:
        """Write the scores, and make notebooks and pages, which are not yet put in place."""
        if not batch:
            return
        chapter, source = self._coursedir.assignment_id, self._autograde.coursedir
        changed = {submission.student: submission for submission in batch if submission.changed}
        self._batch.graded_files = {submission.path: submission.graded for submission in changed.values()}
        with one_transaction(self._coursedir.db_url, self._coursedir.course_id) as gradebook:
            if changed and self._autograde.create_student:
                folders = {student: str(submission.path.parent) for student, submission in changed.items()}
                times = {student: source.get_existing_timestamp(folder) for student, folder in folders.items()}
                record_submissions(gradebook, chapter, times)
                read_ahead(gradebook, chapter, changed)
            for student, submission in changed.items():
                _convert(self._autograde, submission.path)
                self._feedback.made[student] = self._autograde.exporter.notebook
            gradebook.db.flush()
            read_ahead(gradebook, chapter, [submission.student for submission in batch])
            for submission in batch:
                _convert(self._feedback, self._notebook(submission))

    def _put_in_place(self, submission: ToWrite) -> None:
        if submission.changed:
            self._autograde.put_in_place(submission.student)
        self._feedback.put_in_place(submission.student)
        # A page gets its notebook's time when it is complete; a page that a killed run began has another time.
        os.utime(self._page(submission), ns=(self._notebook(submission).stat().st_mtime_ns,) * 2)

    def _is_current(self, submission: ToWrite) -> bool:
        """Return whether a page shows its notebook and what instructors gave, in today's design."""
        page, notebook = self._page(submission), self._notebook(submission)
        if not page.exists() or page.stat().st_mtime_ns != notebook.stat().st_mtime_ns:
            return False
        expected = {"by-hand": submission.by_hand, "edition": getattr(self._feedback.exporter, "edition", "")}
        text = page.read_text(encoding="utf-8")
        return all(f'<meta name="{name}" content="{content}">' in text for name, content in expected.items())

    def _notebook(self, submission: ToWrite) -> Path:
        chapter = self._coursedir.assignment_id
        return Path(self._coursedir.format_path("autograded", submission.student, chapter), f"{chapter}.ipynb")

    def _page(self, submission: ToWrite) -> Path:
        chapter = self._coursedir.assignment_id
        return Path(self._coursedir.format_path("feedback", submission.student, chapter), f"{chapter}.html")


class _Batch:
    """What SubmissionExporter asks instead of a queue, because the submissions of a batch are graded already."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.graded_files: dict[Path, Graded] = {}

    def graded(self, path: Path) -> Graded:
        return self.graded_files[path]


class _Held(BaseConverter):
    """A converter whose result waits for `put_in_place`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._waiting: dict[str, tuple[str, dict[str, Any]]] = {}

    def write_single_notebook(self, output: str, resources: dict[str, Any]) -> None:
        self._waiting[resources["nbgrader"]["student"]] = output, resources

    def set_permissions(self, assignment_id: str, student_id: str) -> None:
        pass

    def put_in_place(self, student: str) -> None:
        """Write the result for a student; if that fails, remove what is there, as nbgrader does."""
        assignment = self.coursedir.assignment_id
        try:
            super().write_single_notebook(*self._waiting.pop(student))
            super().set_permissions(assignment, student)
        except Exception:
            rmtree(self._format_dest(assignment, student))
            raise


class _Autograde(_Held, Autograde):
    """An Autograde for submissions that are graded and recorded."""

    grader: _Batch

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Do nothing, because `record_submissions` has recorded the student and the submission.

        No other file of the submission or of the assignment is copied, because the course folder is guarded.
        """
        if not self.create_student:  # nbgrader says who is unknown
            super().init_assignment(assignment_id, student_id)

    def write_single_notebook(self, output: str, resources: dict[str, Any]) -> None:
        """Write the first notebook at once, because it has no mark yet. The second has one, and waits."""
        write = BaseConverter.write_single_notebook if self._sanitizing else _Held.write_single_notebook
        write(self, output, resources)


class _Feedback(_Held, GenerateFeedback):
    """A GenerateFeedback that need not read notebooks which have just been made."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.made: dict[str, NotebookNode] = {}

    def convert_single_notebook(self, notebook_filename: str) -> None:
        resources = self.init_single_notebook_resources(notebook_filename)
        notebook = self.made.pop(resources["nbgrader"]["student"], None)
        if notebook is None:
            super().convert_single_notebook(notebook_filename)
        else:
            self.write_single_notebook(*self.exporter.from_notebook_node(notebook, resources))


def _open(converter: Autograde | GenerateFeedback) -> None:
    """Do what a converter's `start` does before it converts."""
    converter.writer = FilesWriter(parent=converter, config=converter.config)
    converter.exporter = converter.exporter_class(parent=converter, config=converter.config)
    for preprocessor in converter.preprocessors:
        converter.exporter.register_preprocessor(preprocessor)


def _convert(converter: Autograde | GenerateFeedback, notebook: Path) -> None:
    """Convert one notebook, even one that is missing, because the exporter has a report about it."""
    converter.assignments = {str(notebook.parent): [str(notebook)]}
    converter.convert_notebooks()
