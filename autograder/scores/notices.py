"""What a student's page says besides the graded notebook and its scores."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.course.comments import load_comments
from autograder.course.regrade_requests import Request, load_requests
from autograder.scores.attempts import about_attempts
from autograder.scores.late import load_rules, sentences
from autograder.scores.voids import Voids, load_voids


@dataclass(frozen=True)
class Notices:
    """What one page says.

    due: sentences. about_attempts: a sentence about which attempt counts, or "". voids: the chapter's void exercises.
    requests: the student's, with their answers. reusable: the course's comments, which an instructor's can name.
    given: digest of the points and comments that instructors gave.
    """

    due: Sequence[str]
    about_attempts: str
    voids: Voids
    requests: Sequence[Request]
    reusable: Mapping[str, str]
    given: str

    @property
    def digest(self) -> str:
        """A digest of all of it; empty if the page says nothing."""
        sentences = [*self.due, *self.voids.sentences, *filter(None, [self.about_attempts])]
        parts = (self.given, self.given and self.reusable, sentences, self.requests)
        return digest(parts) if any(parts) else ""


def read_notices(course: Path, chapter: str, counts: str) -> Callable[[str, datetime | None, str], Notices]:
    """Return a function of a student, the chapter's due date and the digest of what instructors gave.

    counts: from `which_counts`.
    """
    rules, voids = load_rules(course, chapter), load_voids(course, chapter)
    requests, reusable = load_requests(course, chapter), load_comments(course)

    def notices(student: str, due: datetime | None, given: str) -> Notices:
        about = about_attempts(course, student, chapter, counts)
        return Notices(sentences(due, rules, student), about, voids, requests.get(student, []), reusable, given)

    return notices


def digest(parts: Sequence[Any]) -> str:
    """Return a short digest."""
    return hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:16]
