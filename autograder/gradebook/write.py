"""Write scores and feedback, one submission at a time, by nbgrader's own Autograde and GenerateFeedback.

Of our commands only `grade` writes them. Points given by hand and voided scores have modules of their own.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, chdir
from itertools import chain
from logging import Logger
from pathlib import Path

from nbconvert.writers import FilesWriter
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback, NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import OperationalError, SAWarning

from autograder.gradebook.attempts import restore_attempt
from autograder.gradebook.best_attempt import attempt_chooser
from autograder.gradebook.coursedir import open_coursedir, quiet_log
from autograder.gradebook.engine import index_rows, shared_engine, why_unusable
from autograder.gradebook.progress import with_progress
from autograder.gradebook.rows import Incomplete, StudentRow
from autograder.gradebook.score_log import logged_changes
from autograder.gradebook.state import ClassState
from autograder.gradebook.voids import load_voids
from autograder.grading.queue import GradingQueue
from autograder.sandbox import MachineTooBusy, SandboxUnavailable
from check.words import listed, shown


def write_class(
    grader: GradingQueue,
    course: Path,
    chapter: str,
    paths: Mapping[str, Path],
    *,
    force: bool = False,
    dry_run: bool = False,
) -> list[StudentRow]:
    """Write scores and feedback of these submissions, waiting for each to be graded.

    Args:
        paths: student id -> submitted file.
        force: also write what is recorded already.
        dry_run: write only reports; the rows say what would be written.

    Raises:
        Incomplete: something failed that no student caused; it holds the rows of the other submissions.
        SandboxUnavailable: no sandbox is left to grade in.
    """
    rows: list[StudentRow] = []
    failed: dict[str, list[str]] = {}
    voids = load_voids(course, chapter)
    coursedir = open_coursedir(course, chapter)
    with (
        quiet_log() as (log, logged),
        warnings.catch_warnings(),
        chdir(course),
        shared_engine() as unusable,
        ExitStack() as stack,
    ):
        warnings.simplefilter("ignore", SAWarning)  # nbgrader's own queries cause them, and still work
        try:
            if not dry_run:
                with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
                    index_rows(gradebook)
            recorded = ClassState(coursedir, grader.reports)
            whys = {} if dry_run else stack.enter_context(logged_changes(coursedir, "graded"))
        except OperationalError as error:
            raise Incomplete(rows, [why_unusable(error)]) from error
        writer = None if dry_run else Writer(coursedir, log, grader)
        choose = attempt_chooser(coursedir, grader, recorded, keep=not dry_run)
        again: dict[str, Path] = {}  # a machine that was too busy for them may be calmer when the others are graded
        for student, path in chain(with_progress(paths.items(), "grading", "submissions"), again.items()):
            try:
                graded = grader.graded(path)
                choice = choose(student, path, graded)
                report, folder = choice.graded.report, choice.path.parent
                why = whys[student] = "--force" if force else recorded.why(student, report, folder)
                if writer and choice.path != path:
                    restore_attempt(choice.path, path)
                written = writer is not None and writer.write(student, path, bool(why), recorded.page(student))
                attempts = (folder, graded.report, choice.sentence)
                rows.append(StudentRow(student, report, why, graded.reused, written, voids, *attempts))
            except SandboxUnavailable:
                raise
            except Exception as error:
                if unusable:  # then no other submission can be written either
                    break
                if isinstance(error, MachineTooBusy) and student not in again:
                    again[student] = path
                else:
                    failed.setdefault(_reason(error, logged), []).append(student)
            logged.clear()
    rows.sort(key=lambda row: row.student)
    reasons = [f"{listed(map(shown, students))}: {reason}" for reason, students in failed.items()]
    reasons += [why_unusable(error) for error in unusable[:1]]
    if reasons:
        raise Incomplete(rows, reasons)
    return rows


def _reason(error: Exception, logged: Sequence[str]) -> str:
    """Return why a submission failed, in one line; nbgrader logs the traceback, and raises a general exception."""
    if isinstance(error, NbGraderException):
        return shown((logged or [str(error)])[0].strip().splitlines()[-1], 500)
    return shown(f"{type(error).__name__}: {error}", 500)


class Writer:
    """nbgrader's two converters, each opened once."""

    def __init__(self, coursedir: CourseDirectory, log: Logger, grader: GradingQueue) -> None:
        self.coursedir = coursedir
        self.autograde = _Autograde(coursedir=coursedir, config=coursedir.config, log=log, force=True)
        self.autograde.grader = grader
        self.feedback = GenerateFeedback(coursedir=coursedir, config=coursedir.config, log=log, force=True)
        for converter in (self.autograde, self.feedback):
            _open(converter)

    def write(self, student: str, path: Path, changed: bool, by_hand: str) -> bool:
        """Update a student's scores if they changed, and the feedback if it is out of date; return `changed`.

        by_hand: fingerprint of the scores and comments that instructors gave.

        Raises NbGraderException, and what grading raises.
        """
        chapter = self.coursedir.assignment_id
        notebook = Path(self.coursedir.format_path("autograded", student, chapter), f"{chapter}.ipynb")
        page = Path(self.coursedir.format_path("feedback", student, chapter), f"{chapter}.html")
        if changed:
            _convert(self.autograde, path)
        if changed or not self._is_current(page, notebook, by_hand):
            _convert(self.feedback, notebook)
            # A page gets its notebook's time when it is complete; a page that a killed run began has another time.
            os.utime(page, ns=(notebook.stat().st_mtime_ns,) * 2)
        return changed

    def _is_current(self, page: Path, notebook: Path, by_hand: str) -> bool:
        """Return whether a page shows this notebook and what instructors gave, in today's design."""
        if not page.exists() or page.stat().st_mtime_ns != notebook.stat().st_mtime_ns:
            return False
        expected = {"by-hand": by_hand, "edition": getattr(self.feedback.exporter, "edition", "")}
        text = page.read_text(encoding="utf-8")
        return all(f'<meta name="{name}" content="{content}">' in text for name, content in expected.items())


class _Autograde(Autograde):
    """An Autograde whose exporter asks a grader that is already at work."""

    grader: GradingQueue

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Record the student and the submission as nbgrader does, but open the gradebook once instead of six times.

        No other file of the submission or of the assignment is copied, because the course folder is guarded.
        """
        if not self.create_student:  # nbgrader says who is unknown
            super().init_assignment(assignment_id, student_id)
            return
        timestamp = self.coursedir.get_existing_timestamp(self._format_source(assignment_id, student_id))
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            gradebook.update_or_create_student(student_id)
            handed_in = {"timestamp": timestamp} if timestamp else {}
            gradebook.update_or_create_submission(assignment_id, student_id, **handed_in)


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
