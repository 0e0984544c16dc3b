"""Grade many submissions, several at a time, each once: the work goes on ahead while somebody else writes.

Nothing here imports nbgrader, which takes two seconds: the first sandboxes run meanwhile.
"""

import os
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from autograder import reading
from autograder.files import fetch
from autograder.grading import Assignment, grade_submission, open_assignment
from autograder.reading import Submission
from autograder.report import Report, Reports
from autograder.sandbox import probe


@dataclass(frozen=True)
class Graded:
    """A submission as it was read, and its report. reused: the report was there already."""

    submission: Submission
    report: Report
    reused: bool


class Grader:
    """Grades the submissions of one assignment, several at a time, each once; what is stored is reused.

    jobs: how many at a time; the work is done in the sandbox's processes, so threads are enough.
    force: make every report anew.
    """

    def __init__(self, assignment: Assignment, reports: Reports, *, jobs: int | None = None, force: bool = False):
        self.assignment, self.reports, self.force = assignment, reports, force
        self._jobs = jobs or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._jobs)
        self._started: dict[Path, Future[Graded]] = {}
        self._expected: deque[Path] = deque()

    def expect(self, paths: Iterable[Path]) -> None:
        """Say which files will be asked for, in which order, so that work on the next ones starts before."""
        self._expected.extend(paths)
        self._work_ahead()

    def graded(self, path: Path) -> Graded:
        """The outcome for one file, waited for. Raises SandboxUnavailable."""
        future = self._start(path)
        self._work_ahead()
        return future.result()

    def _work_ahead(self):
        # Never the whole class at once: an interrupted run has little left to wait for.
        while self._expected and sum(not future.done() for future in self._started.values()) < 2 * self._jobs:
            self._start(self._expected.popleft())

    def _start(self, path):
        if path not in self._started:
            self._started[path] = self._pool.submit(self._grade, path)
        return self._started[path]

    def _grade(self, path):
        file = fetch(path)
        known = None if self.force else self.reports.find(self.assignment.digest_of(file))
        if known:
            return Graded(reading.read(file, self.assignment.released), known, reused=True)
        submission, report = grade_submission(file, self.assignment)
        return Graded(submission, self.reports.add(report), reused=False)


def open_grader(
    course: Path, chapter: str, *, sandbox: str = "bwrap", jobs: int | None = None, force: bool = False
) -> Grader:
    """A grader for one chapter of a course, its sandbox probed. Raises SandboxUnavailable, FileNotFoundError."""
    assignment = open_assignment(course, chapter, sandbox)
    if sandbox == "bwrap":
        probe(assignment.bundle)
    return Grader(assignment, Reports(course / "reports" / chapter), jobs=jobs, force=force)


@dataclass(frozen=True)
class Row:
    """One student of a graded class. written: the gradebook was brought up to date just now."""

    student: str
    report: Report
    reused: bool
    written: bool


class Incomplete(Exception):
    """Some submissions could not be graded or written, through no fault of theirs. rows: the others'."""

    def __init__(self, rows: list[Row], errors: list[str]):
        super().__init__("\n".join(errors))
        self.rows = rows


class NoSubmissions(LookupError):
    """There is nothing to grade; the message says where submissions are expected."""


def submissions(course: Path, chapter: str, students: Iterable[str] = ()) -> dict[str, Path]:
    """Student id -> the file that is to be graded, which may be missing. Raises NoSubmissions."""
    submitted = course / "submitted"
    found = {folder.parent.name: folder / f"{chapter}.ipynb" for folder in sorted(submitted.glob(f"*/{chapter}"))}
    if unknown := sorted(set(students) - set(found)):
        raise NoSubmissions(f"no submission of {chapter} by {', '.join(unknown)} in {submitted}")
    if not found:
        place = f"{submitted}/STUDENT/{chapter}/{chapter}.ipynb"
        raise NoSubmissions(f"no submissions of {chapter}: they are expected as {place}")
    if strange := [student for student in found if set(student) & set("*?[]")]:
        raise NoSubmissions(f"nbgrader cannot handle a student id with *, ? or [ in it: rename {', '.join(strange)}")
    return {student: path for student, path in found.items() if student in students or not students}
