"""Which exercises of a chapter are void because their question was wrong, and how their points count instead.

course/voided.json stores what nbgrader cannot: that an exercise is void, in which way, and the scores that instructors
had given for it by hand before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from autograder.course.files import read_json, write_json
from autograder.course.handout import check_cell, exercise_of
from autograder.grading.report import Report

Kind = Literal["credit-all", "drop"]


@dataclass(frozen=True)
class ByHand:
    """The score and the extra credit that an instructor gave for one exercise; None if there is none."""

    manual: float | None
    extra: float | None


@dataclass(frozen=True)
class Void:
    """A void exercise. by_hand: student -> the points given by hand before the exercise became void."""

    kind: Kind
    by_hand: Mapping[str, ByHand] = field(default_factory=dict)

    def counted(self, points: float) -> float:
        """Return how many of its points a void exercise adds to each score and to the maximum."""
        return points if self.kind == "credit-all" else 0.0


@dataclass(frozen=True)
class Voids:
    """The void exercises of one chapter: name of the graded cell -> Void."""

    cells: Mapping[str, Void] = field(default_factory=dict)

    def points(self, cell: str, points: float) -> float:
        """Return how many of its points a graded cell adds to the maximum."""
        return self.cells[cell].counted(points) if cell in self.cells else points

    def scores(self, report: Report) -> dict[str, float]:
        """Return the name of each graded cell of a report -> its score."""
        computed = {check_cell(result.function): result for result in report.results}
        return {
            cell: self.cells[cell].counted(result.points) if cell in self.cells else min(result.earned, result.points)
            for cell, result in computed.items()
        }

    def maximum(self, report: Report) -> float:
        """Return how many points the exercises of a report add to the maximum."""
        return sum(self.points(check_cell(result.function), result.points) for result in report.results)

    def sentence(self, cell: str) -> str:
        """Return what students and instructors need to know about a void exercise."""
        return f"`{exercise_of(cell)}` is void: {_EFFECTS[self.cells[cell].kind]}."

    @property
    def sentences(self) -> list[str]:
        """A sentence about each void exercise."""
        return list(map(self.sentence, self.cells))


_EFFECTS: dict[Kind, str] = {
    "credit-all": "everyone who handed in gets its full points",
    "drop": "it counts neither in the score nor in the maximum",
}


def load_voids(course: Path, chapter: str) -> Voids:
    """Return the void exercises of a chapter. Raises UserError for a damaged file."""
    return Voids(_load(course).get(chapter, {}))


def save_void(course: Path, chapter: str, cell: str, void: Void | None) -> None:
    """Store that an exercise is void; None if it is not."""
    everything = _load(course)
    others = {other: kept for other, kept in everything.get(chapter, {}).items() if other != cell}
    everything[chapter] = others | ({cell: void} if void else {})
    write_json(_file(course), everything)


def _load(course: Path) -> dict[str, dict[str, Void]]:
    return read_json(_file(course), dict[str, dict[str, Void]], {})


def _file(course: Path) -> Path:
    return course / "voided.json"
