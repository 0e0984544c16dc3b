"""Choose the best attempt of a student: grade each, subtract its own penalty for being late, and compare."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.gradebook.state import ClassState
from autograder.grading.assignment import file_digest
from autograder.grading.queue import Graded, GradingQueue
from autograder.grading.submitted_file import read_file
from autograder.scores.attempts import keep_attempt, kept_attempts, save_about_attempts
from autograder.scores.marks import rounded
from autograder.scores.which_attempt import attempt_limit, which_counts


@dataclass(frozen=True)
class Choice:
    """The attempt that counts: its notebook and its report, and a sentence about the attempts if there are several."""

    path: Path
    graded: Graded
    sentence: str = ""


Chooser = Callable[[str, Path, Graded], Choice]


def attempt_chooser(coursedir: CourseDirectory, grader: GradingQueue, state: ClassState, *, keep: bool) -> Chooser:
    """Return choose(student, file in `submitted`, its grading) -> the attempt that counts, as the course configures it.

    keep: whether to keep the file as a graded attempt, and to store which attempt counts. Raises UserError.
    """
    if which_counts(coursedir.config) == "last":
        return lambda student, path, graded: Choice(path, graded)
    return _BestAttempt(coursedir, grader, state, keep)


class _BestAttempt:
    def __init__(self, coursedir: CourseDirectory, grader: GradingQueue, state: ClassState, keep: bool) -> None:
        self._keep, self._limit = keep, attempt_limit(coursedir.config)
        self._course, self._chapter = Path(coursedir.root), coursedir.assignment_id
        self._grader, self._state = grader, state

    def __call__(self, student: str, submitted: Path, latest: Graded) -> Choice:
        """Return the attempt with the highest score among the first ones; of equal ones, the last.

        Raises what grading raises.
        """
        if self._keep:
            keep_attempt(self._course, student, self._chapter, submitted)
        kept = kept_attempts(self._course, student, self._chapter)
        last = latest.report.made_from["submission"]
        attempts = [
            Choice(path, latest if file_digest(read_file(path)) == last else self._grader.graded(path))
            for path in kept[: self._limit]
        ]
        is_kept = any(attempt.graded is latest for attempt in attempts)
        if not attempts or not (is_kept or latest.report.trouble or len(attempts) == self._limit):
            attempts.append(Choice(submitted, latest))
        scores = [self._score(student, attempt) for attempt in attempts]
        best = max(range(len(attempts)), key=lambda number: (scores[number], number))
        sentence = _sentence(scores, best, len(kept) > len(attempts))
        if self._keep and kept:
            save_about_attempts(self._course, student, self._chapter, sentence)
        return Choice(attempts[best].path, attempts[best].graded, sentence)

    def _score(self, student: str, attempt: Choice) -> float:
        return rounded(self._state.after(student, attempt.graded.report, attempt.path.parent).total)


def _sentence(scores: Sequence[float], best: int, has_later: bool) -> str:
    """Return which attempt counts, and what it earns.

    scores: of all attempts that may count, in their order. has_later: whether there are attempts after these.
    """
    if len(scores) == 1:
        return "Only the first attempt counts." if has_later else ""
    listing = ", ".join(f"{score:.4g}" for score in scores)
    later = " Later attempts do not count." if has_later else ""
    counts = f"The best attempt counts, which is number {best + 1} of {len(scores)}."
    return f"{counts} The attempts earn {listing} points.{later}"
