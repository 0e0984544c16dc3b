"""Handle each submission that arrives: wait until it is complete, grade it, return the feedback, count the attempt."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.errors import UserError
from autograder.gradebook.class_run import Incomplete
from autograder.grading.assignment import file_digest
from autograder.grading.submitted_file import read_file
from autograder.hub.watching.attempt_log import Attempt, AttemptLog, AttemptRules, decide
from autograder.hub.watching.inboxes import Arrival, Inbox
from autograder.scores.marks import Marks
from autograder.scores.rows import StudentRow

SETTLED = 2  # seconds without a change, after which a file that ends like a notebook is complete
ABANDONED = 30  # seconds without a change, after which any other file is graded as it is
LOOK_EVERY = 5  # seconds between two looks at the whole inbox, if the file system reports no change
RETRY_AFTER = 15  # seconds until the next try after a failure that the student did not cause

Line = tuple[str, str]  # the student, or the folder, and what happened


@dataclass
class _Tracked:
    """The state of a student's latest submission. since: when it was first seen.

    submission: digest of the file once it is complete. last_line: the line that was reported last.
    """

    arrival: Arrival
    since: float
    submission: str = ""
    not_before: float = 0
    done: bool = False
    last_line: str = ""


class Desk:
    """Take submissions from an inbox, and have them graded.

    Args:
        grade: grades the submissions of some students, as `rows_as_graded` does.
        page: student -> path of the feedback page.
        clock: returns the time, in seconds since 1970.
    """

    def __init__(
        self,
        inbox: Inbox,
        attempts: AttemptLog,
        rules: AttemptRules,
        grade: Callable[[Sequence[str]], Iterator[StudentRow]],
        page: Callable[[str], Path],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._inbox, self._attempts, self._rules = inbox, attempts, rules
        self._grade, self._page, self._clock = grade, page, clock
        self._tracked: dict[str, _Tracked] = {}
        self._skipped: dict[str, str] = {}
        self._next_look = 0.0

    def is_due(self) -> bool:
        """Whether it is time for the next look."""
        return self._clock() >= self._next_look

    def look(self) -> Iterator[Line]:
        """Handle everything that is due, and yield a line about each event."""
        now = self._clock()
        self._next_look = now + LOOK_EVERY
        try:
            arrivals, skipped = self._inbox.arrivals()
        except OSError as error:  # a network that is down for a moment, for example
            arrivals, skipped = [], {self._inbox.folder.name: f"it cannot be read: {error}"}
        yield from ((name, f"skipped: {why}") for name, why in skipped.items() if self._skipped.get(name) != why)
        self._skipped = skipped
        ready = []
        for arrival in arrivals:
            tracked = self._track(arrival, now)
            if not tracked.done and now >= tracked.not_before and self._is_complete(tracked, now):
                action, line = self._decide(tracked, now)
                ready += [tracked] if action == "grade" else []
                yield from self._new_line(tracked, line)
            if not tracked.done:
                self._next_look = min(self._next_look, max(tracked.not_before, tracked.since + SETTLED))
        if ready:
            yield from self._graded({tracked.arrival.student: tracked for tracked in ready})

    def _track(self, arrival: Arrival, now: float) -> _Tracked:
        """Return the state of an arrival, which starts again if the submission has changed."""
        tracked = self._tracked.get(arrival.student)
        if tracked is None or (tracked.arrival.name, tracked.arrival.state) != (arrival.name, arrival.state):
            tracked = self._tracked[arrival.student] = _Tracked(arrival, now)
        return tracked

    def _is_complete(self, tracked: _Tracked, now: float) -> bool:
        """Whether no program is writing the file any more."""
        unchanged = now - tracked.since
        if not tracked.submission and unchanged >= SETTLED:
            file = read_file(tracked.arrival.file, tracked.arrival.owner)
            if file.raw.rstrip().endswith(b"}") or unchanged >= ABANDONED:
                tracked.submission = file_digest(file)
            else:
                tracked.not_before = tracked.since + ABANDONED
        return bool(tracked.submission)

    def _decide(self, tracked: _Tracked, now: float) -> tuple[str, str]:
        """The action for a complete submission, and a line about it or an empty string."""
        arrival = tracked.arrival
        earlier = self._attempts.of(arrival.student)
        decision = decide(earlier, arrival.name, tracked.submission, self._rules, now)
        if decision.action == "wait":
            tracked.not_before = decision.due
            line = f"attempt {decision.number} will be graded at {_time_of_day(decision.due)}, from the newest file"
            return decision.action, line
        tracked.done = decision.action != "grade"
        return decision.action, self._keep(tracked, earlier, now) if decision.action == "keep" else ""

    def _keep(self, tracked: _Tracked, earlier: Sequence[Attempt], now: float) -> str:
        """Store a submission for which no attempt is left, tell the student once, and return a line about it."""
        arrival = tracked.arrival
        kept = Attempt(arrival.name, tracked.submission, now, graded=False)
        if any((a.name, a.submission) == (kept.name, kept.submission) for a in earlier if not a.graded):
            return ""
        line = f"kept and not graded: {self._rules.limit} of {self._rules.limit} attempts have been graded"
        try:
            self._inbox.refuse(arrival, f"{line}. The {self._rules.counts} of them counts.")
            self._attempts.add(arrival.student, kept)
        except OSError as error:
            return f"{line}; the student could not be notified: {error}"
        return line

    def _graded(self, waiting: dict[str, _Tracked]) -> Iterator[Line]:
        """Grade the latest submissions of students, and return the feedback on each before the slower ones have ended.

        To stop early, take no further line.
        """
        failure = ""
        try:
            for student, reason in self._inbox.collect([t.arrival for t in waiting.values()]).items():
                tracked = waiting.pop(student)
                tracked.done = True
                yield from self._new_line(tracked, self._refuse(tracked, reason))
            for row in self._grade(list(waiting)) if waiting else ():
                tracked = waiting.pop(row.student)
                yield from self._new_line(tracked, self._return_feedback(tracked, row))
        except (Incomplete, UserError, OSError) as error:  # the next try succeeds after the instructor has resolved it
            failure = str(error)
        for tracked in waiting.values():
            yield from self._new_line(tracked, self._retry(tracked, failure))

    def _return_feedback(self, tracked: _Tracked, row: StudentRow) -> str:
        """Hand back the feedback, and then count the attempt: it counts once the student can read the result."""
        arrival = tracked.arrival
        report, now = row.latest or row.report, self._clock()
        submission = report.made_from["submission"]
        number = decide(self._attempts.of(row.student), arrival.name, submission, AttemptRules(), now).number
        try:
            unreachable = self._inbox.return_feedback(arrival, self._page(row.student))
            self._attempts.add(row.student, Attempt(arrival.name, submission, now))
        except OSError as error:
            return self._retry(tracked, f"graded, but the feedback cannot be released: {error}")
        tracked.done = True
        limit = f" of {self._rules.limit}" if self._rules.limit else ""
        points = f"{Marks.graded(report, row.voids).raw:g} of {row.points:g} points"
        trouble = f": {report.trouble}" if report.trouble else ""
        return f"attempt {number}{limit}: {points}, {unreachable or self._inbox.returned}{trouble}"

    def _refuse(self, tracked: _Tracked, reason: str) -> str:
        try:
            self._inbox.refuse(tracked.arrival, f"not graded: {reason}")
        except OSError as error:
            return f"skipped: {reason}; the student could not be notified: {error}"
        return f"skipped: {reason}"

    def _retry(self, tracked: _Tracked, reason: str) -> str:
        tracked.not_before = self._clock() + RETRY_AFTER
        return f"not yet, will be tried again: {reason}"

    def _new_line(self, tracked: _Tracked, line: str) -> Iterator[Line]:
        """Yield a line, unless it is empty or repeats the last one about this submission."""
        if line and line != tracked.last_line:
            tracked.last_line = line
            yield tracked.arrival.student, line


def _time_of_day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds):%H:%M:%S}"
