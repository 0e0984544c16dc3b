"""What was graded as it arrived: which of a student's submissions, when, and what that allows next."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from autograder.course.atomic_write import write_atomically


@dataclass(frozen=True)
class Attempt:
    """One submission that was dealt with.

    name: what it is called where it arrived. submission: fingerprint of the file. at: seconds since 1970.
    graded: False if it was kept, because no attempt was left.
    """

    name: str
    submission: str
    at: float
    graded: bool = True


@dataclass(frozen=True)
class Rules:
    """limit: graded attempts of one student; None for any number. wait: seconds from one of them to the next."""

    limit: int | None = None
    wait: float = 0


@dataclass(frozen=True)
class Next:
    """What is to be done with a submission: the number of the attempt that it is, and when one that waits is due."""

    what: Literal["grade", "wait", "keep", "nothing"]
    number: int
    due: float = 0


def decide(earlier: Sequence[Attempt], name: str, submission: str, rules: Rules, now: float) -> Next:
    """What is to be done with a student's latest submission, after these.

    A file that was graded before says nothing new: it is no attempt, and waits for nothing.
    """
    graded = [each for each in earlier if each.graded]
    first: dict[str, float] = {}
    for each in graded:
        first.setdefault(each.submission, each.at)
    if submission in first:
        same = (graded[-1].name, graded[-1].submission) == (name, submission)
        return Next("nothing" if same else "grade", list(first).index(submission) + 1)
    number = len(first) + 1
    if rules.limit is not None and number > rules.limit:
        return Next("keep", number)
    due = max(first.values()) + rules.wait if first else now
    return Next("wait", number, due) if now < due else Next("grade", number)


class Memory:
    """The attempts in one chapter, in a file of the course folder that is written whole or not at all."""

    def __init__(self, course: Path, chapter: str):
        self._path = course / "watched" / f"{chapter}.json"
        read = json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}
        self._attempts = {student: [Attempt(**each) for each in attempts] for student, attempts in read.items()}

    def of(self, student: str) -> list[Attempt]:
        """A student's, oldest first."""
        return self._attempts.get(student, [])

    def add(self, student: str, attempt: Attempt) -> None:
        """Remember an attempt, whatever happens next."""
        self._attempts.setdefault(student, []).append(attempt)
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fields = {whose: [asdict(each) for each in attempts] for whose, attempts in self._attempts.items()}
        write_atomically(self._path, json.dumps(fields, indent=1))
