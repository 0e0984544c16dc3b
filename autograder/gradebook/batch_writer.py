"""Write a batch of graded submissions: their scores in one transaction, then their notebooks and pages.

A submission counts as written once its notebook is in place and marked, so after a kill the next run writes the rest.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook, Student
from nbgrader.converters import Autograde, GenerateFeedback, NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import OperationalError
from traitlets.utils.importstring import import_item

from autograder.course.files import write_atomically
from autograder.gradebook.counting import Counting, save_scores
from autograder.gradebook.coursedir import student_file
from autograder.gradebook.engine import one_transaction
from autograder.gradebook.guarded_course import guarded, keep_time_and_secret
from autograder.gradebook.page_values import page_values
from autograder.gradebook.rebuilding import notebook_text, rebuild
from autograder.gradebook.submission_rows import SubmissionRows, read_rows, record_submissions
from autograder.grading.assignment import Assignment
from autograder.grading.queue import Graded
from autograder.scores.notices import Notices
from check.words import shown


@dataclass(frozen=True)
class ToWrite:
    """A graded submission. path: the submitted file. notices: what the page says.

    changed: whether the scores have to be written. If not, the page may still be out of date.
    """

    student: str
    path: Path
    graded: Graded
    notices: Notices
    changed: bool


class Writer:
    """Writes what grading found into the gradebook, the autograded notebooks and the feedback.

    Args:
        unusable: the errors that make the gradebook unusable.
    """

    def __init__(
        self,
        gradebook: Gradebook,
        coursedir: CourseDirectory,
        assignment: Assignment,
        unusable: Sequence[OperationalError],
    ) -> None:
        self._gradebook = gradebook
        self._coursedir, self._released, self._unusable = guarded(coursedir), assignment.released, unusable
        config = coursedir.config
        self._counting = Counting(coursedir)
        self._page_maker = import_item(config.GenerateFeedback.exporter_class)(config=config)
        self._creates = Autograde(config=config).create_student
        self._mode = GenerateFeedback(coursedir=coursedir, config=config).permissions

    def write(self, batch: Sequence[ToWrite]) -> dict[str, str]:
        """Update the scores that changed, and the pages that are out of date; return student -> why that failed.

        If the batch fails as a whole, each submission is written alone, so that one failure does not affect the others.
        """
        batch = [submission for submission in batch if submission.changed or not self._is_current(submission)]
        try:
            made = self._commit(batch)
        except Exception as error:
            if len(batch) == 1 or self._unusable:
                return {submission.student: self.reason(error) for submission in batch}
            return {student: why for submission in batch for student, why in self.write([submission]).items()}
        failed = {}
        for submission in batch:
            try:
                self._put_in_place(submission, *made[submission.student])
            except Exception as error:
                shutil.rmtree(self._page(submission).parent, ignore_errors=True)  # a full disk may have truncated it
                failed[submission.student] = self.reason(error)
        return failed

    def reason(self, error: Exception) -> str:
        """Return why a submission failed, in one line."""
        if isinstance(error, NbGraderException):
            return shown(str(error), 500)
        return shown(f"{type(error).__name__}: {error}", 500)

    def _commit(self, batch: Sequence[ToWrite]) -> dict[str, tuple[NotebookNode, str]]:
        """Write the scores; return student -> the notebook and the page, which are not yet put in place."""
        if not batch:
            return {}
        chapter = self._coursedir.assignment_id
        changed = {submission.student: submission for submission in batch if submission.changed}
        with one_transaction(self._gradebook):
            for student in changed:
                if not self._creates and not self._gradebook.db.get(Student, student):
                    raise NbGraderException(f"No student with ID '{student}' exists in the database")
            times = {student: self._time(ours) for student, ours in changed.items()}
            record_submissions(self._gradebook, chapter, times)
            rows = read_rows(self._gradebook, chapter, changed)
            notebooks = {student: self._scored(ours, rows[student]) for student, ours in changed.items()}
            self._gradebook.db.flush()
            rows = read_rows(self._gradebook, chapter, [submission.student for submission in batch])
            return {ours.student: self._with_page(ours, rows[ours.student], notebooks) for ours in batch}

    def _time(self, submission: ToWrite) -> datetime | None:
        return self._coursedir.get_existing_timestamp(str(submission.path.parent))

    def _scored(self, submission: ToWrite, rows: SubmissionRows) -> NotebookNode:
        """Save a submission's scores, put a first version of its notebook in place, and return the notebook."""
        notebook = rebuild(submission.graded.submission, submission.graded.report, self._released)
        self._place(self._notebook(submission), json.dumps(notebook))
        for path in (self._notebook(submission), self._page(submission)):
            keep_time_and_secret(self._coursedir, submission.path.parent, path.parent)
        save_scores(rows, self._counting, submission.student, submission.graded.report, notebook)
        return notebook

    def _with_page(
        self, submission: ToWrite, rows: SubmissionRows, made: Mapping[str, NotebookNode]
    ) -> tuple[NotebookNode, str]:
        notebook = made.get(submission.student) or nbformat.read(self._notebook(submission), 4)
        names = self._names(submission.student) | {"feedback": page_values(notebook, rows, submission.notices)}
        page, _ = self._page_maker.from_notebook_node(notebook, names)
        return notebook, page

    def _names(self, student: str) -> dict[str, Any]:
        chapter = self._coursedir.assignment_id
        about = dict(student=student, assignment=chapter, notebook=chapter, db_url=self._coursedir.db_url)
        return {"nbgrader": about, "unique_key": chapter, "output_files_dir": f"{chapter}_files"}

    def _place(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text)
        path.chmod(int(str(self._mode), 8))

    def _put_in_place(self, submission: ToWrite, notebook: NotebookNode, page: str) -> None:
        if submission.changed:
            self._place(self._notebook(submission), notebook_text(notebook) + "\n")
        self._place(self._page(submission), page)
        # A complete page gets its notebook's time; a page that a killed run has begun has another time.
        os.utime(self._page(submission), ns=(self._notebook(submission).stat().st_mtime_ns,) * 2)

    def _is_current(self, submission: ToWrite) -> bool:
        """Return whether a page shows its notebook and what instructors gave, in today's design."""
        page, notebook = self._page(submission), self._notebook(submission)
        if not page.exists() or page.stat().st_mtime_ns != notebook.stat().st_mtime_ns:
            return False
        expected = {"by-hand": submission.notices.digest, "edition": getattr(self._page_maker, "edition", "")}
        text = page.read_text(encoding="utf-8")
        return all(f'<meta name="{name}" content="{content}">' in text for name, content in expected.items())

    def _notebook(self, submission: ToWrite) -> Path:
        return student_file(self._coursedir, "autograded", submission.student)

    def _page(self, submission: ToWrite) -> Path:
        return student_file(self._coursedir, "feedback", submission.student, "html")
