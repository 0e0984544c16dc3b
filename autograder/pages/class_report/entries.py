"""Read a graded class from the course folder: each student's report, gradebook score and earlier gradings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from autograder.course.handout import check_cell
from autograder.course.roster_file import load_roster
from autograder.course.teams import load_teams
from autograder.gradebook.assigning import refuse_outdated
from autograder.gradebook.coursedir import CourseDirectory
from autograder.gradebook.engine import Gradebook
from autograder.gradebook.queries import known_students, read_book
from autograder.gradebook.state import Autograded, changes, read_autograded
from autograder.grading.assignment import file_digest
from autograder.grading.report import Report, Reports
from autograder.grading.submitted_file import read_file
from autograder.scores.attempts import about_attempts
from autograder.scores.marks import Book, Marks
from autograder.scores.voids import Voids, load_voids
from autograder.scores.which_attempt import which_counts


@dataclass(frozen=True)
class Grading:
    """One grading of a file. earned: its computed score, with the exercises that count today.

    why: a sentence about what had changed since the grading before it.
    """

    time: float
    earned: float
    why: str


@dataclass(frozen=True)
class Entry:
    """One graded student.

    score: the score in the gradebook.
    differences: sentences about why it is not the score that grading computed.
    history: the gradings of the submitted file, oldest first.
    chapters: chapter -> (score, points), for the chapters so far.
    sources: exercise -> the source of its cell, as it was graded.
    own_cells: the code in cells that the student added.
    team: the name of the group with which the student handed in; "" for none.
    voids: the void exercises of the chapter.
    about_attempts: a sentence about which attempt counts; "" if there is only one, or the last one counts anyway.
    """

    student: str
    report: Report
    score: float
    differences: tuple[str, ...] = ()
    history: tuple[Grading, ...] = ()
    chapters: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    own_cells: tuple[str, ...] = ()
    team: str = ""
    voids: Voids = Voids()
    about_attempts: str = ""

    @property
    def computed(self) -> float:
        """The score that grading computed, with the void and optional exercises."""
        return Marks.graded(self.report, self.voids).raw

    @property
    def is_perfect(self) -> bool:
        """Whether every assigned exercise is solved."""
        optional = self.voids.optional
        assigned = [result for result in self.report.results if check_cell(result.function) not in optional]
        return all(result.earned == result.points for result in assigned)

    @property
    def points(self) -> float:
        """The points of the chapter, including those given by hand."""
        return self.chapters[self.report.chapter][1] if self.report.chapter in self.chapters else self.report.points


@dataclass(frozen=True)
class Class:
    """A class in one chapter, with its students sorted by id.

    entries: the graded students.
    ungraded: students who handed in a file that has no report yet.
    resubmitted: graded students who handed in another file since, so that their report is about the earlier file.
    absent: students in the gradebook without a submission in the course.
    names: student id -> name, for students whose name the gradebook has.
    """

    chapter: str
    entries: tuple[Entry, ...]
    ungraded: tuple[str, ...] = ()
    resubmitted: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def read_class(gradebook: Gradebook, coursedir: CourseDirectory, paths: Mapping[str, Path]) -> Class:
    """Return the class of a chapter, without withdrawn students. Raises UserError if its scores are out of date.

    paths: student id -> submitted file.
    """
    refuse_outdated(gradebook, coursedir)
    course, chapter = Path(coursedir.root), coursedir.assignment_id
    roster = load_roster(course)
    paths = {student: path for student, path in paths.items() if student not in roster.withdrawn}
    reports = Reports(course / "reports" / chapter)
    find = cache(reports.find)  # a history often contains the student's current report
    handed_in = sorted(paths)
    notebooks = {student: read_autograded(coursedir, student) for student in handed_in}
    graded = {
        student: report
        for student, notebook in notebooks.items()
        if (report := find(notebook.record.get("report", "")))
    }
    voids, counts = load_voids(course, chapter), which_counts(coursedir.config)
    book, histories = read_book(gradebook), _histories(reports.folder, find, voids)
    teams = {student: team for team, members in load_teams(course, chapter).items() for student in members}
    return Class(
        chapter,
        tuple(
            replace(
                _entry(student, report, notebooks[student], book, histories, voids),
                team=teams.get(student, ""),
                about_attempts=about_attempts(course, student, chapter, counts),
            )
            for student, report in graded.items()
        ),
        tuple(student for student in handed_in if student not in graded),
        tuple(
            student
            for student, report in graded.items()
            if file_digest(read_file(paths[student])) != report.made_from["submission"]
        ),
        tuple(sorted(book.students - set(paths) - roster.withdrawn)),
        {student.id: student.name for student in known_students(gradebook, roster) if student.name},
    )


def _entry(
    student: str,
    report: Report,
    notebook: Autograded,
    book: Book,
    histories: Mapping[str, tuple[Grading, ...]],
    voids: Voids,
) -> Entry:
    marks = book.marks.get(report.chapter, {}).get(student)
    chapters = {
        chapter: (marks_of_class[student].total, book.points.get(chapter, 0.0))
        for chapter, marks_of_class in sorted(book.marks.items())
        if student in marks_of_class
    }
    return Entry(
        student,
        report,
        (marks or Marks.graded(report, voids)).total,
        tuple(marks.differences(report, voids)) if marks else ("not in the gradebook: grade again",),
        histories.get(report.made_from["submission"], ()),
        chapters,
        notebook.sources,
        notebook.own_sources,
        voids=voids,
    )


def _histories(folder: Path, find: Callable[[str], Report | None], voids: Voids) -> dict[str, tuple[Grading, ...]]:
    """Return the digest of a submitted file -> its gradings, oldest first. find: returns the report of that name."""
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
    last_reports: dict[str, Report] = {}
    histories: dict[str, tuple[Grading, ...]] = {}
    for file in files:
        if report := find(file.stem):
            submission = report.made_from["submission"]
            last = last_reports.get(submission)
            why = (changes(last, report) or "graded again") if last else "graded for the first time"
            grading = Grading(file.stat().st_mtime, Marks.graded(report, voids).raw, why)
            histories[submission] = (*histories.get(submission, ()), grading)
            last_reports[submission] = report
    return histories
