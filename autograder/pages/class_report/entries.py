"""A class as it stands on disk: each student's report, gradebook score and earlier gradings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autograder.gradebook.coursedir import CourseDirectory
from autograder.gradebook.marks import Book, Marks
from autograder.gradebook.queries import read_marks
from autograder.gradebook.state import changes, grading_record, own_sources, submitted_sources
from autograder.grading.assignment import fingerprint
from autograder.grading.report import Report, Reports
from autograder.grading.submitted_file import read_file


@dataclass(frozen=True)
class Grading:
    """One time that a file was graded. why: what had changed since the time before, in plain words."""

    time: float
    earned: float
    why: str


@dataclass(frozen=True)
class Entry:
    """One graded student.

    score: what the gradebook says. differs: why that is not what grading came to, in plain words.
    history: each time this very file was graded, oldest first. chapters: chapter -> (score, points) so far.
    sources: exercise -> its cell, as it was graded. own: the code in cells that the student added.
    """

    student: str
    report: Report
    score: float
    differs: tuple[str, ...] = ()
    history: tuple[Grading, ...] = ()
    chapters: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class Class:
    """A class in one chapter, students by id.

    ungraded: handed in, without a report. again: handed in again since, so that the report is of an earlier file.
    absent: in the gradebook, nothing handed in.
    """

    chapter: str
    entries: tuple[Entry, ...]
    ungraded: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def read_class(coursedir: CourseDirectory, paths: Mapping[str, Path]) -> Class:
    """The class of those who handed in; paths: student id -> submitted file."""
    chapter = coursedir.assignment_id
    reports = Reports(Path(coursedir.root, "reports", chapter))
    found = {student: reports.find(grading_record(coursedir, student).get("report", "")) for student in sorted(paths)}
    graded = {student: report for student, report in found.items() if report}
    book, histories = read_marks(coursedir), _histories(reports)
    return Class(
        chapter,
        tuple(_entry(student, report, book, histories, coursedir) for student, report in graded.items()),
        tuple(student for student in found if student not in graded),
        tuple(s for s, report in graded.items() if fingerprint(read_file(paths[s])) != report.made_from["submission"]),
        tuple(sorted(book.students - set(paths))),
    )


def _entry(student: str, report: Report, book: Book, histories, coursedir: CourseDirectory) -> Entry:
    own = book.marks.get(report.chapter, {}).get(student)
    chapters = {
        chapter: (of_class[student].total, book.points.get(chapter, 0.0))
        for chapter, of_class in sorted(book.marks.items())
        if student in of_class
    }
    return Entry(
        student,
        report,
        report.earned if own is None else own.total,
        _differs(own, report),
        histories.get(report.made_from["submission"], ()),
        chapters,
        submitted_sources(coursedir, student),
        own_sources(coursedir, student),
    )


def _differs(own: Marks | None, report: Report) -> tuple[str, ...]:
    return ("not in the gradebook: grade again",) if own is None else tuple(own.differences(report))


def _histories(reports: Reports) -> dict[str, tuple[Grading, ...]]:
    """Fingerprint of each submitted file -> the times it was graded, oldest first."""
    files = sorted(reports.folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
    earlier: dict[str, Report] = {}
    histories: dict[str, tuple[Grading, ...]] = {}
    for file in files:
        if report := reports.find(file.stem):
            submission = report.made_from["submission"]
            before = earlier.get(submission)
            why = (changes(before, report) or "graded again") if before else "graded for the first time"
            grading = Grading(file.stat().st_mtime, report.earned, why)
            histories[submission] = (*histories.get(submission, ()), grading)
            earlier[submission] = report
    return histories
