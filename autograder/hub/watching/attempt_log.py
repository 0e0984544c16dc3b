"""Log which submissions of a student were graded as they arrived, and decide what to do with the next one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from autograder.course.files import read_json, write_json


@dataclass(frozen=True)
class Attempt:
    """A submission that was graded, or kept because no attempt was left.

    name: its name where it arrived. submission: digest of the file. at: seconds since 1970.
    graded: False if it was kept.
    """

    name: str
    submission: str
    at: float
    graded: bool = True


@dataclass(frozen=True)
class AttemptRules:
    """The rules for the attempts of one student.

    limit: graded attempts, None for any number. wait: seconds from one graded attempt to the next.
    counts: "last" or "best", the graded attempt that counts.
    """

    limit: int | None = None
    wait: float = 0
    counts: str = "last"


@dataclass(frozen=True)
class Decision:
    """What to do with a submission, and as which attempt. due: when to grade a submission that waits."""

    action: Literal["grade", "wait", "keep", "nothing"]
    number: int
    due: float = 0


def decide(earlier: Sequence[Attempt], name: str, submission: str, rules: AttemptRules, now: float) -> Decision:
    """Decide what to do with a student's latest submission.

    A file with the same content as a graded one is not a new attempt, and need not wait.

    Args:
        earlier: the student's attempts so far, oldest first.
        name, submission, now: those of the latest submission, as in an Attempt.
    """
    graded = [attempt for attempt in earlier if attempt.graded]
    first: dict[str, float] = {}
    for attempt in graded:
        first.setdefault(attempt.submission, attempt.at)
    if submission in first:
        same = (graded[-1].name, graded[-1].submission) == (name, submission)
        return Decision("nothing" if same else "grade", list(first).index(submission) + 1)
    number = len(first) + 1
    if rules.limit is not None and number > rules.limit:
        return Decision("keep", number)
    due = max(first.values()) + rules.wait if first else now
    return Decision("wait", number, due) if now < due else Decision("grade", number)


class AttemptLog:
    """The attempts of all students in one chapter, stored in the course folder. Raises UserError for a damaged file."""

    def __init__(self, course: Path, chapter: str) -> None:
        self._path = course / "watched" / f"{chapter}.json"
        self._attempts = read_json(self._path, dict[str, list[Attempt]], {})

    def of(self, student: str) -> list[Attempt]:
        """Return a student's attempts, oldest first."""
        return self._attempts.get(student, [])

    def add(self, student: str, attempt: Attempt) -> None:
        """Store an attempt; it is on the disk when this returns."""
        self._attempts.setdefault(student, []).append(attempt)
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_json(self._path, self._attempts)
