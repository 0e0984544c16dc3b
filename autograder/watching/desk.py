"""What is done with each thing that arrives: waited for until it is whole, graded, handed back and remembered."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.course.handout import NotReleased
from autograder.course.lock import Busy
from autograder.gradebook.class_run import Incomplete
from autograder.gradebook.rows import StudentRow
from autograder.grading.assignment import fingerprint
from autograder.grading.queue import NoSubmissions
from autograder.grading.submitted_file import read_file
from autograder.watching.attempts import Attempt, Memory, Rules, decide
from autograder.watching.inboxes import Arrival, Inbox

STILL = 2  # seconds without a change, after which a file is there
PATIENCE = 30  # ... if it ends as no notebook ends
LOOK = 5  # seconds from one look at everything to the next, if nothing is said to have come
AGAIN = 15  # seconds until what could not be done, through no fault of the student's, is tried again

Said = tuple[str, str]  # whose, and what happened


@dataclass
class _Seen:
    """A student's latest submission as it was first seen, and how far it is."""

    arrival: Arrival
    since: float
    submission: str = ""
    not_before: float = 0
    done: bool = False
    said: str = ""


class Desk:
    """Takes in what has arrived, and has it graded.

    Args:
        grade: grades some students' submissions, as `grade_class` does.
        clock: the time, in seconds since 1970.
    """

    def __init__(
        self,
        inbox: Inbox,
        memory: Memory,
        rules: Rules,
        grade: Callable[[Sequence[str]], list[StudentRow]],
        page: Callable[[str], Path],
        clock: Callable[[], float] = time.time,
    ):
        self._inbox, self._memory, self._rules = inbox, memory, rules
        self._grade, self._page, self._clock = grade, page, clock
        self._seen: dict[str, _Seen] = {}
        self._left: dict[str, str] = {}
        self._next_look = 0.0

    def is_due(self) -> bool:
        """Whether something waits to be looked at, or everything has not been for some seconds."""
        return self._clock() >= self._next_look

    def look(self) -> Iterator[Said]:
        """Deal with everything that is due; says one line about each thing that happened."""
        now = self._clock()
        self._next_look = now + LOOK
        try:
            arrivals, left = self._inbox.arrivals()
        except OSError as error:  # a network that is away for a moment
            arrivals, left = [], {self._inbox.folder.name: f"it cannot be read: {error}"}
        yield from ((name, f"left: {why}") for name, why in left.items() if self._left.get(name) != why)
        self._left = left
        ready = []
        for arrival in arrivals:
            seen = self._seen.get(arrival.student)
            if seen is None or (seen.arrival.name, seen.arrival.look) != (arrival.name, arrival.look):
                seen = self._seen[arrival.student] = _Seen(arrival, now)
            if not seen.done and now >= seen.not_before and self._is_there(seen, now):
                action, said = self._decide(seen, now)
                ready += [seen] if action == "grade" else []
                yield from self._once(seen, said)
            if not seen.done:
                self._next_look = min(self._next_look, max(seen.not_before, seen.since + STILL))
        few = os.cpu_count() or 1  # so that the end is near when it is asked for
        for first in range(0, len(ready), few):
            yield from self._graded(ready[first : first + few])

    def _is_there(self, seen, now):
        """Whether nobody is writing the file any more."""
        if not seen.submission and now - seen.since >= STILL:
            file = read_file(seen.arrival.file)
            if file.raw.rstrip().endswith(b"}") or now - seen.since >= PATIENCE:
                seen.submission = fingerprint(file)
            else:
                seen.not_before = seen.since + PATIENCE
        return bool(seen.submission)

    def _decide(self, seen, now):
        arrival = seen.arrival
        earlier = self._memory.of(arrival.student)
        step = decide(earlier, arrival.name, seen.submission, self._rules, now)
        if step.what == "wait":
            seen.not_before = step.due
            return step.what, f"attempt {step.number} is graded at {_hour(step.due)}, or a later one then"
        seen.done = step.what != "grade"
        if step.what != "keep":
            return step.what, ""
        kept = Attempt(arrival.name, seen.submission, now, graded=False)
        if any((each.name, each.submission) == (kept.name, kept.submission) for each in earlier if not each.graded):
            return step.what, ""
        said = f"kept and not graded: {self._rules.limit} of {self._rules.limit} attempts have been graded"
        try:
            self._inbox.refuse(arrival, f"{said}. The last of them counts.")
            self._memory.add(arrival.student, kept)
        except OSError as error:
            return step.what, f"{said}; nor could that be said to the student: {error}"
        return step.what, said

    def _graded(self, some) -> list[Said]:
        """Grade, hand back and remember a few submissions, whoever asks us to end meanwhile."""
        why, rows, left = "", [], {}
        try:
            left = self._inbox.bring([seen.arrival for seen in some])
            if students := [seen.arrival.student for seen in some if seen.arrival.student not in left]:
                rows = self._grade(students)
        except Incomplete as error:
            why, rows = str(error), error.rows
        except (Busy, NoSubmissions, NotReleased, OSError) as error:
            why = str(error)
        of_student = {row.student: row for row in rows}
        said: list[Said] = []
        for seen in some:
            student = seen.arrival.student
            if student in left:
                seen.done, line = True, self._refused(seen, left[student])
            elif student in of_student:
                line = self._handed_back(seen, of_student[student])
            else:
                line = self._later(seen, why)
            said += self._once(seen, line)
        return said

    def _handed_back(self, seen, row):
        """An attempt counts once the student can read what came of it."""
        arrival = seen.arrival
        submission, now = row.report.made_from["submission"], self._clock()
        number = decide(self._memory.of(row.student), arrival.name, submission, Rules(), now).number
        try:
            unreachable = self._inbox.hand_back(arrival, self._page(row.student))
            self._memory.add(row.student, Attempt(arrival.name, submission, now))
        except OSError as error:
            return self._later(seen, f"graded, but the feedback cannot be released: {error}")
        seen.done = True
        limit = f" of {self._rules.limit}" if self._rules.limit else ""
        points = f"{row.report.earned:g} of {row.report.points:g} points"
        trouble = f": {row.report.trouble}" if row.report.trouble else ""
        return f"attempt {number}{limit}: {points}, {unreachable or self._inbox.handed_back}{trouble}"

    def _refused(self, seen, why):
        try:
            self._inbox.refuse(seen.arrival, f"not graded: {why}")
        except OSError as error:
            return f"left: {why}; nor could that be said to the student: {error}"
        return f"left: {why}"

    def _later(self, seen, why):
        seen.not_before = self._clock() + AGAIN
        return f"not yet, and tried again: {why}"

    def _once(self, seen, line):
        if line and line != seen.said:
            seen.said = line
            yield seen.arrival.student, line


def _hour(seconds):
    return f"{datetime.fromtimestamp(seconds):%H:%M:%S}"
