"""Grade many submissions on a cluster, several at a time, each once: the work goes on ahead while somebody else writes.

Nothing here imports nbgrader, which takes two seconds: the first sandboxes run meanwhile.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from distributed import Client, Future

from autograder.course.seed import secret_seed
from autograder.course.student_ids import why_not_an_id
from autograder.errors import UserError
from autograder.grading import reading, replies, worker
from autograder.grading.assignment import Assignment, digest, open_assignment, seeds_of
from autograder.grading.reading import Submission
from autograder.grading.report import Report, Reports
from autograder.grading.submitted_file import File, fetch
from autograder.sandbox import SandboxUnavailable
from check.words import shown


@dataclass(frozen=True)
class Graded:
    """A submission as it was read, and its report. reused: the report was there already."""

    submission: Submission
    report: Report
    reused: bool


class GradingQueue:
    """Grades the submissions of one assignment, several at a time, each once; what is stored is reused.

    seed: the course's, from which each file's cases are drawn. force: make every report anew.
    """

    def __init__(self, assignment: Assignment, seed: int, reports: Reports, client: Client, *, force: bool = False):
        self.assignment, self.reports, self.force = assignment, reports, force
        self._seed = seed
        self._client = client
        self._sent = client.submit(worker.receive, assignment, pure=False)
        try:
            replies.answer(self._ask(worker.prepare, self._sent))
        except replies.NoReport as error:
            raise SandboxUnavailable(str(error)) from error
        self._at_once = 2 * sum(client.ncores().values())
        self._expected: dict[Path, None] = {}
        self._started: dict[Path, tuple[File, dict[str, str], Report | Future]] = {}
        self._last: tuple[Path, Graded] | None = None

    def expect(self, paths: Iterable[Path]) -> None:
        """Say which files will be asked for, in which order, so that work on the next ones starts before."""
        self._expected.update(dict.fromkeys(paths))
        self._work_ahead()

    def graded(self, path: Path) -> Graded:
        """The outcome for one file, waited for. Raises what went wrong on the way, if it is no fault of the file's."""
        if self._last is None or self._last[0] != path:
            self._start(path)
            self._work_ahead()
            self._last = path, self._finish(*self._started.pop(path))
        return self._last[1]

    def _work_ahead(self):
        # Never the whole class at once: memory stays flat, and an interrupted run has little left to wait for.
        while self._expected and len(self._started) < self._at_once:
            self._start(next(iter(self._expected)))

    def _start(self, path):
        self._expected.pop(path, None)
        if path in self._started:
            return
        file = fetch(path)
        parts = self.assignment.report_parts(file)
        known = None if self.force else self.reports.find(digest(parts))
        self._started[path] = file, parts, known or self._grade(file)

    def _grade(self, file):
        seeds = seeds_of(file, self.assignment.released, self._seed)
        return self._ask(worker.grade_file, file, seeds, self._sent)

    def _ask(self, function, *arguments):
        return self._client.submit(replies.replied, function, *arguments, pure=False)

    def _finish(self, file, parts, work):
        reused = isinstance(work, Report)
        report = work if reused else self.reports.add(replies.report(work, parts, self.assignment.released))
        return Graded(reading.read_submission(file, self.assignment.released), report, reused)


def open_queue(
    course: Path, chapter: str, client: Client, *, sandbox: str = "bwrap", force: bool = False
) -> GradingQueue:
    """A grader for one chapter of a course, its sandbox tried. Raises SandboxUnavailable, NotReleased."""
    seed = secret_seed(course)
    assignment = open_assignment(course, chapter, seed, sandbox)
    return GradingQueue(assignment, seed, Reports(course / "reports" / chapter), client, force=force)


class NoSubmissions(UserError):
    """There is nothing to grade; the message says where submissions are expected."""


def handed_in(course: Path, chapter: str) -> dict[str, Path]:
    """Name of each student's folder -> the file that is to be graded, which may be missing."""
    folders = sorted((course / "submitted").glob(f"*/{chapter}"))
    return {folder.parent.name: folder / f"{chapter}.ipynb" for folder in folders}


def submissions(course: Path, chapter: str, students: Iterable[str] = ()) -> dict[str, Path]:
    """Student id -> the file that is to be graded, for those whose ids can be handled. Raises NoSubmissions."""
    submitted, found = course / "submitted", handed_in(course, chapter)
    if unknown := sorted(set(students) - set(found)):
        raise NoSubmissions(f"no submission of {chapter} by {', '.join(map(shown, unknown))} in {submitted}")
    usable = {student: path for student, path in found.items() if not why_not_an_id(student)}
    if not usable:
        place = f"{submitted}/STUDENT/{chapter}/{chapter}.ipynb"
        raise NoSubmissions("\n".join([f"no submissions of {chapter}: they are expected as {place}", *refused(found)]))
    return {student: path for student, path in usable.items() if student in students or not students}


def refused(found: Iterable[str]) -> list[str]:
    """For each folder of submissions that is named as no student can be: a sentence that says so."""
    return [f"{shown(s)}: {why}: rename {shown(s)}" for s in found if (why := why_not_an_id(s))]
