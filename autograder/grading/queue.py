"""Grade many submissions, several at a time. Workers grade the next submissions while the caller stores results.

Nothing here imports nbgrader, so the first sandboxes run during the two seconds that nbgrader takes to import.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from queue import SimpleQueue

from autograder.course.seed import secret_seed
from autograder.grading import reading, replies, worker
from autograder.grading.assignment import Assignment, digest, open_assignment, seeds_of
from autograder.grading.client import Client, Work
from autograder.grading.reading import Submission
from autograder.grading.report import Report, Reports
from autograder.grading.submitted_file import File, read_file
from autograder.sandbox import MachineTooBusy, SandboxUnavailable


@dataclass(frozen=True)
class Graded:
    """A submission and its report. reused: whether the report existed before."""

    submission: Submission
    report: Report
    reused: bool


class GradingQueue:
    """Grades the submissions of one assignment, several at a time, and reuses stored reports.

    When the first file needs a new report, the workers get the assignment and try the sandbox.

    seed: the course's seed, which decides the cases of each file. force: whether to replace stored reports.
    """

    def __init__(self, assignment: Assignment, seed: int, reports: Reports, client: Client, *, force: bool = False):
        self.assignment, self.reports, self.force = assignment, reports, force
        self._seed = seed
        self._client = client
        self._tried = False
        self._at_once = 2 * sum(client.ncores().values())
        self._expected: dict[Path, None] = {}
        self._started: dict[Path, tuple[File, dict[str, str], Report | Work]] = {}
        self._ended: SimpleQueue[Path] = SimpleQueue()
        self._last: tuple[Path, Graded] | None = None
        self._too_busy_for: set[Path] = set()

    def try_workers(self) -> None:
        """Wait until a worker has tried the sandbox. Raises SandboxUnavailable if it cannot grade."""
        if self._tried:
            return
        _, trial = self._workers
        try:
            replies.decode_answer(trial)
        except (replies.NoReport, MachineTooBusy) as error:
            raise SandboxUnavailable(str(error)) from error
        self._tried = True

    def expect(self, paths: Iterable[Path]) -> None:
        """Announce the files to grade, in order, so that grading can start early."""
        self._expected.update(dict.fromkeys(paths))
        self._work_ahead()

    def batches(self, files: Collection[Path], most: int) -> Iterator[list[Path]]:
        """Yield the files whose grading has ended, as soon as there is one, so that none waits for a slower one.

        The caller asks for the reports on a batch before the next.

        Args:
            files: all that were expected.
            most: how many may be in a batch.
        """
        waiting = len(files)
        while waiting:
            self._work_ahead()
            batch = [self._ended.get()]
            while len(batch) < most and not self._ended.empty():
                batch.append(self._ended.get())
            yield batch
            waiting -= len(batch)

    def graded(self, path: Path) -> Graded:
        """Wait for the report on one file. After an exception, a second call grades the file again.

        After MachineTooBusy, the second call waits until all other grading has ended, because then a stop by the wall
        clock counts.

        Raises NoReport, MachineTooBusy or SandboxUnavailable. In a second call, no file's content causes them.
        """
        if self._last is None or self._last[0] != path:
            if path in self._too_busy_for:
                self._wait_for_others()
                self._start(path)
            else:
                self._start(path)
                self._work_ahead()
            try:
                self._last = path, self._finish(*self._started.pop(path))
            except MachineTooBusy:
                self._too_busy_for.add(path)
                raise
        return self._last[1]

    def _work_ahead(self) -> None:
        # Do not start the whole class at once. This limits the memory, and how long an interrupted run still waits.
        while self._expected and len(self._started) < self._at_once:
            path = next(iter(self._expected))
            with suppress(Exception):  # `graded` raises it again, for this file
                self._start(path)
            match self._started.get(path):
                case None | (_, _, Report()):
                    self._ended.put(path)
                case (_, _, work):
                    work.add_done_callback(partial(self._note_end, path))

    def _note_end(self, path: Path, work: Work) -> None:
        self._ended.put(path)

    def _wait_for_others(self) -> None:
        for _, _, work in self._started.values():
            if not isinstance(work, Report):
                with suppress(Exception):
                    work.result()

    def _start(self, path: Path) -> None:
        self._expected.pop(path, None)
        if path in self._started:
            return
        file = read_file(path)
        parts = self.assignment.report_parts(file)
        stored = None if self.force else self.reports.find(digest(parts))
        self._started[path] = file, parts, stored or self._grade(file, path in self._too_busy_for)

    def _grade(self, file: File, alone: bool) -> Work:
        seeds = seeds_of(file, self.assignment.released, self._seed)
        sent, _ = self._workers
        return self._submit(worker.grade_file, file, seeds, sent, alone)

    @cached_property
    def _workers(self) -> tuple[Work, Work]:
        """The tasks that send the assignment to the workers and let a worker try the sandbox."""
        sent = self._client.submit(worker.receive, self.assignment, pure=False)
        return sent, self._submit(worker.prepare, sent)

    def _submit(self, function: Callable, *arguments: object) -> Work:
        return self._client.submit(replies.call_and_encode, function, *arguments, pure=False)

    def _finish(self, file: File, parts: dict[str, str], work: Report | Work) -> Graded:
        released = self.assignment.released
        if reused := isinstance(work, Report):
            report = work
        else:
            self.try_workers()
            report = self.reports.add(replies.decode_report(work, parts, released))
        return Graded(reading.read_submission(file, released), report, reused)


def open_queue(
    course: Path, chapter: str, client: Client, *, sandbox: str = "bwrap", force: bool = False
) -> GradingQueue:
    """Return a queue for one chapter of a course. Raises NotReleased."""
    seed = secret_seed(course)
    assignment = open_assignment(course, chapter, seed, sandbox)
    return GradingQueue(assignment, seed, Reports(course / "reports" / chapter), client, force=force)
