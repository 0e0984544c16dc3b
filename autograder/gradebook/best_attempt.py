"""Choose the best attempt of a student: grade each, subtract its own penalty for being late, and compare."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.gradebook.attempts import keep_attempt, kept_attempts, save_sentence, which_counts
from autograder.gradebook.forecast import Scorer
from autograder.gradebook.state import ClassState
from autograder.grading.assignment import fingerprint
from autograder.grading.queue import Graded, GradingQueue
from autograder.grading.submitted_file import read_file


@dataclass(frozen=True)
class Choice:
    """The attempt that counts: its notebook and its report, and a sentence about the attempts if there are several."""

    path: Path
    graded: Graded
    sentence: str = ""


Chooser = Callable[[str, Path, Graded], Choice]


def attempt_chooser(coursedir: CourseDirectory, grader: GradingQueue, state: ClassState, *, keep: bool) -> Chooser:
    """Return choose(student, file in `submitted`, its grading) -> the attempt that counts, as the course configures it.

    keep: whether the file becomes one of the graded attempts, and what counts is stored. Raises UserError.
    """
    if which_counts(coursedir.config) == "last":
        return lambda student, path, graded: Choice(path, graded)
    return _BestAttempt(coursedir, grader, state, keep)


class _BestAttempt:
    def __init__(self, coursedir: CourseDirectory, grader: GradingQueue, state: ClassState, keep: bool) -> None:
        self._keep = keep
        self._course, self._chapter = Path(coursedir.root), coursedir.assignment_id
        self._grader, self._state, self._scorer = grader, state, Scorer(coursedir)

    def __call__(self, student: str, submitted: Path, latest: Graded) -> Choice:
        """Return the attempt with the highest score; of equal ones, the last. Raises what grading raises."""
        if self._keep:
            keep_attempt(self._course, student, self._chapter, submitted)
        kept = kept_attempts(self._course, student, self._chapter)
        last = latest.report.made_from["submission"]
        attempts = [
            Choice(path, latest if fingerprint(read_file(path)) == last else self._grader.graded(path)) for path in kept
        ]
        is_kept = any(attempt.graded is latest for attempt in attempts)
        if not attempts or not (is_kept or latest.report.trouble):
            attempts.append(Choice(submitted, latest))
        scores = [self._score(student, attempt) for attempt in attempts]
        best = max(range(len(attempts)), key=lambda number: (scores[number], number))
        sentence = _sentence(scores, best)
        if self._keep and kept:
            save_sentence(self._course, student, self._chapter, sentence)
        return Choice(attempts[best].path, attempts[best].graded, sentence)

    def _score(self, student: str, attempt: Choice) -> float:
        late = self._state.seconds_late(student, attempt.path.parent)
        return round(self._scorer.after(student, attempt.graded.report, late).total, 9)


def _sentence(scores: Sequence[float], best: int) -> str:
    """Return which attempt counts, and what it earns. scores: of all attempts, in their order."""
    if len(scores) == 1:
        return ""
    listing = ", ".join(f"{score:.4g}" for score in scores)
    return f"The best attempt counts, which is number {best + 1} of {len(scores)}. The attempts earn {listing} points."
