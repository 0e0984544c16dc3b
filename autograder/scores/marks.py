"""A student's marks in the gradebook, and why they differ from the scores that grading computed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from autograder.course.handout import exercise_of
from autograder.grading.report import Report
from autograder.scores.voids import Voids


@dataclass(frozen=True)
class Mark:
    """One graded cell in the gradebook: the computed score, the score set by hand, the extra credit."""

    auto: float | None
    manual: float | None
    extra: float | None

    @property
    def is_graded(self) -> bool:
        return self.auto is not None or self.manual is not None

    @property
    def score(self) -> float:
        """The points, as nbgrader counts: extra credit counts once there is a score."""
        score = self.auto if self.manual is None else self.manual
        return 0.0 if score is None else score + (self.extra or 0.0)


@dataclass
class Marks:
    """One student's marks in one chapter: cell name -> mark, and the penalty for being late."""

    cells: dict[str, Mark] = field(default_factory=dict)
    penalty: float = 0.0

    @staticmethod
    def graded(report: Report, voids: Voids) -> "Marks":
        """Return the computed marks, without changes by hand."""
        return Marks({cell: Mark(score, None, None) for cell, score in voids.scores(report).items()})

    @property
    def raw(self) -> float:
        """The score before the penalty."""
        return sum(mark.score for mark in self.cells.values())

    @property
    def total(self) -> float:
        """The score that counts; a penalty larger than the score takes all of it."""
        return max(0.0, self.raw - self.penalty)

    @property
    def lost(self) -> float:
        """The share of the score that the penalty takes."""
        return min(1.0, self.penalty / self.raw) if self.raw else float(self.penalty > 0)

    def differences(self, report: Report, voids: Voids) -> list[str]:
        """Return why the total differs from the computed one, in plain words; empty if it does not."""
        earned = voids.scores(report)
        sentences = [
            sentence
            for cell, mark in self.cells.items()
            for sentence in (
                _differences(exercise_of(cell), mark, earned[cell]) if cell in earned else _by_hand(cell, mark)
            )
        ]
        return sentences + ([f"{self.penalty:g} taken off for being late"] if self.penalty else [])


@dataclass(frozen=True)
class Book:
    """A course's gradebook.

    students: ids of everyone in it. points: chapter -> points of all its exercises.
    marks: chapter -> student -> Marks.
    """

    students: frozenset[str]
    points: dict[str, float]
    marks: dict[str, dict[str, Marks]]


def rounded(points: float) -> float:
    """Return points without the error of adding floats: 2.6, not 2.59999…"""
    return round(points, 9)


def _differences(exercise: str, mark: Mark, earned: float | None) -> Iterator[str]:
    if mark.manual is not None and mark.manual != earned:
        yield f"`{exercise}` set by hand: {mark.manual:g}, where grading computed {_or_none(earned)}"
    elif mark.manual is None and mark.auto != earned:
        yield f"the gradebook has {_or_none(mark.auto)} for `{exercise}`, the report {_or_none(earned)}: grade again"
    if mark.extra:
        yield f"`{exercise}`: {mark.extra:+g} added by hand"


def _by_hand(cell: str, mark: Mark) -> Iterator[str]:
    """Yield what an instructor gave for a text that only people can grade."""
    if mark.manual is not None or mark.extra:
        yield f"`{cell}` graded by hand: {mark.score:g}"


def _or_none(score: float | None) -> str:
    return "no score" if score is None else f"{score:g}"
