"""The one writer of scores and feedback: nbgrader's own Autograde and GenerateFeedback, a submission at a time."""

import os
import warnings
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

from nbconvert.writers import FilesWriter
from nbgrader.converters import Autograde, GenerateFeedback, NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import OperationalError, SAWarning

from autograder.gradebook.coursedir import open_coursedir, quiet_log
from autograder.gradebook.engine import one_engine, why_not
from autograder.gradebook.progress import watched
from autograder.gradebook.rows import Incomplete, StudentRow
from autograder.gradebook.state import ClassState
from autograder.grading.queue import GradingQueue
from autograder.sandbox import SandboxUnavailable
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
        force: write also what is recorded already.
        dry_run: write nothing but reports; the rows say what would be written.

    Raises:
        Incomplete: something that is not a student's doing went wrong; it holds the rows of the others.
        SandboxUnavailable: there is no place to grade any more.
    """
    rows: list[StudentRow] = []
    failed: dict[str, list[str]] = {}
    coursedir = open_coursedir(course, chapter)
    with quiet_log() as (log, said), warnings.catch_warnings(), chdir(course), one_engine() as broken:
        warnings.simplefilter("ignore", SAWarning)  # nbgrader's own queries, which work all the same
        try:
            recorded = ClassState(coursedir, grader.reports)
        except OperationalError as error:
            raise Incomplete(rows, [why_not(error)]) from error
        writer = None if dry_run else Writer(coursedir, log, grader)
        for student, path in watched(paths.items(), "grading", "submissions"):
            try:
                graded = grader.graded(path)
                why = "--force" if force else recorded.why(student, graded.report)
                written = writer is not None and writer.write(
                    student, path, bool(why), recorded.by_hand.get(student, "")
                )
                before = recorded.scores.get(student, {})
                rows.append(StudentRow(student, graded.report, before, why, graded.reused, written))
            except SandboxUnavailable:
                raise
            except Exception as error:
                if broken:  # for the others too
                    break
                failed.setdefault(_reason(error, said), []).append(student)
            said.clear()
    reasons = [f"{listed(map(shown, students))}: {reason}" for reason, students in failed.items()]
    reasons += [why_not(error) for error in broken[:1]]
    if reasons:
        raise Incomplete(rows, reasons)
    return rows


def _reason(error, said):
    """Why a submission failed, in one line; nbgrader logs a traceback, and raises something general afterwards."""
    if isinstance(error, NbGraderException):
        return shown((said or [str(error)])[0].strip().splitlines()[-1], 500)
    return shown(f"{type(error).__name__}: {error}", 500)


class Writer:
    """nbgrader's two converters, each opened once."""

    def __init__(self, coursedir: CourseDirectory, log, grader: GradingQueue):
        self.coursedir = coursedir
        self.autograde = _Autograde(coursedir=coursedir, config=coursedir.config, log=log, force=True)
        self.autograde.grader = grader
        self.feedback = GenerateFeedback(coursedir=coursedir, config=coursedir.config, log=log, force=True)
        for converter in (self.autograde, self.feedback):
            _open(converter)

    def write(self, student: str, path: Path, changed: bool, by_hand: str) -> bool:
        """Bring a student's scores and feedback up to date; by_hand: fingerprint of what people gave.

        Raises NbGraderException, and what grading raises.
        """
        chapter = self.coursedir.assignment_id
        notebook = Path(self.coursedir.format_path("autograded", student, chapter), f"{chapter}.ipynb")
        page = Path(self.coursedir.format_path("feedback", student, chapter), f"{chapter}.html")
        if changed:
            _convert(self.autograde, path)
        if changed or not self._shows(page, notebook, by_hand):
            _convert(self.feedback, notebook)
            # A page with its notebook's time is a whole one; one that a killed run left half written has its own.
            os.utime(page, ns=(notebook.stat().st_mtime_ns,) * 2)
        return changed

    def _shows(self, page, notebook, by_hand):
        """Whether a page is of this notebook, shows what people gave, and looks as pages look now."""
        if not page.exists() or page.stat().st_mtime_ns != notebook.stat().st_mtime_ns:
            return False
        told = {"by-hand": by_hand, "edition": getattr(self.feedback.exporter, "edition", "")}
        text = page.read_text(encoding="utf-8")
        return all(f'<meta name="{name}" content="{content}">' in text for name, content in told.items())


class _Autograde(Autograde):
    """With a grader for the exporter to ask, one that is at work already."""

    grader: GradingQueue


def _open(converter):
    """What a converter's `start` does before it converts."""
    converter.writer = FilesWriter(parent=converter, config=converter.config)
    converter.exporter = converter.exporter_class(parent=converter, config=converter.config)
    for preprocessor in converter.preprocessors:
        converter.exporter.register_preprocessor(preprocessor)


def _convert(converter, notebook):
    """Convert one notebook, even one that is missing: the exporter has a report that says so."""
    converter.assignments = {str(notebook.parent): [str(notebook)]}
    converter.convert_notebooks()
