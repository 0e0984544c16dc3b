"""The one writer of scores and feedback: nbgrader's own Autograde and GenerateFeedback, a submission at a time.

A submission is written again when its report is another than the one its autograded notebook came from, when
an earlier run was killed before the scores were in the gradebook, or when the gradebook says something else.
"""

import json
import warnings
from collections.abc import Mapping
from contextlib import chdir, suppress
from pathlib import Path

from nbconvert.writers import FilesWriter
from nbgrader.api import Assignment, Grade, Gradebook, GradeCell, Student, SubmittedAssignment, SubmittedNotebook
from nbgrader.converters import Autograde, GenerateFeedback, NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.exc import SAWarning
from tqdm import tqdm

from autograder import course as courses
from autograder.grader import Grader, Incomplete, Row


def record(grader: Grader, course: Path, chapter: str, paths: Mapping[str, Path], *, force: bool = False) -> list[Row]:
    """Write scores and feedback of these submissions, waiting for each to be graded.

    Args:
        paths: student id -> submitted file.
        force: write also what is recorded already.

    Raises:
        Incomplete: something that is not a student's doing went wrong; it holds the rows of the others.
    """
    rows = []
    coursedir = courses.directory(course, chapter)
    with courses.quiet_log() as (log, errors), warnings.catch_warnings(), chdir(course):
        warnings.simplefilter("ignore", SAWarning)  # nbgrader's own queries, which work all the same
        writer = _Writer(coursedir, log, grader)
        for student, path in tqdm(paths.items(), desc="grading", unit=" submissions", disable=None, leave=False):
            try:
                rows.append(writer.write(student, path, force))
            except NbGraderException:
                pass  # what it was stands in `errors`
            except Exception as error:
                errors.append(f"{student}: {type(error).__name__}: {error}")
    if errors:
        raise Incomplete(rows, errors)
    return rows


class _Writer:
    """nbgrader's two converters, each opened once."""

    def __init__(self, coursedir, log, grader):
        self.coursedir, self.grader = coursedir, grader
        self.scores = recorded_scores(coursedir)
        self.autograde = _Autograde(coursedir=coursedir, config=coursedir.config, log=log, force=True)
        self.autograde.grader = grader
        self.feedback = GenerateFeedback(coursedir=coursedir, config=coursedir.config, log=log, force=True)
        for converter in (self.autograde, self.feedback):
            _open(converter)

    def write(self, student, path, force):
        """Bring one student's scores and feedback up to date. Raises NbGraderException, and what grading raises."""
        graded = self.grader.graded(path)
        report, chapter = graded.report, self.coursedir.assignment_id
        notebook = Path(self.coursedir.format_path("autograded", student, chapter), f"{chapter}.ipynb")
        page = Path(self.coursedir.format_path("feedback", student, chapter), f"{chapter}.html")
        recorded = _recorded_report(notebook) == report.digest and _holds(self.scores.get(student, {}), report)
        if force or not recorded:
            _convert(self.autograde, path)
        if not page.exists() or page.stat().st_mtime_ns < notebook.stat().st_mtime_ns:
            _convert(self.feedback, notebook)
        return Row(student, report, graded.reused, written=force or not recorded)


class _Autograde(Autograde):
    """With a grader for the exporter to ask, one that is at work already."""

    grader: Grader


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


def recorded_scores(coursedir: CourseDirectory) -> dict[str, dict[str, float | None]]:
    """Student id -> name of each check cell -> score, as the gradebook has them for the assignment."""
    found: dict[str, dict[str, float | None]] = {}
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        rows = (
            gradebook.db.query(Student.id, GradeCell.name, Grade.auto_score)
            .select_from(Grade)
            .join(GradeCell, GradeCell.id == Grade.cell_id)
            .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
            .join(Student, Student.id == SubmittedAssignment.student_id)
            .filter(Assignment.name == coursedir.assignment_id)
        )
        for student, cell, score in rows:
            found.setdefault(student, {})[cell] = score
    return found


def _holds(scores, report):
    return all(scores.get(f"check-{result.function}") == result.earned for result in report.results)


def _recorded_report(notebook):
    """The report that an autograded notebook came from, if its scores reached the gradebook."""
    with suppress(OSError, ValueError, KeyError):
        mark = json.loads(notebook.read_text(encoding="utf-8"))["metadata"]["autograder"]
        return mark["report"] if mark["recorded"] else None
