"""Which exercises of a chapter do not count as released, and how their points count instead.

An exercise is void because its question was wrong, or optional because it is not assigned. course/voided.json stores
what nbgrader cannot: that an exercise is void or optional, and the scores that instructors had given for it by hand
before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from autograder.course.files import read_json, write_json
from autograder.course.handout import check_cell, exercise_of
from autograder.grading.report import Report
from check.words import listed

Kind = Literal["credit-all", "drop", "optional"]


@dataclass(frozen=True)
class ByHand:
    """The score and the extra credit that an instructor gave for one exercise; None if there is none."""

    manual: float | None
    extra: float | None


@dataclass(frozen=True)
class Void:
    """A void or optional exercise. by_hand: student -> the points given by hand before it became so."""

    kind: Kind
    by_hand: Mapping[str, ByHand] = field(default_factory=dict)

    def counted(self, points: float) -> float:
        """Return how many of its points the exercise adds to each score and to the maximum."""
        return points if self.kind == "credit-all" else 0.0


@dataclass(frozen=True)
class Voids:
    """The void and optional exercises of one chapter: name of the graded cell -> Void."""

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

    @property
    def optional(self) -> list[str]:
        """The graded cells that are not assigned."""
        return [cell for cell, void in self.cells.items() if void.kind == "optional"]

    def sentence(self, cell: str) -> str:
        """Return what students and instructors need to know about one of these exercises."""
        return f"`{exercise_of(cell)}` is {_EFFECTS[self.cells[cell].kind]}."

    @property
    def sentences(self) -> list[str]:
        """A sentence about each void exercise, and one about all optional exercises."""
        void = [self.sentence(cell) for cell in self.cells if cell not in self.optional]
        optional = [f"`{exercise_of(cell)}`" for cell in self.optional]
        return void + ([f"Optional, not graded: {listed(optional, len(optional))}."] if optional else [])


_EFFECTS: dict[Kind, str] = {
    "credit-all": "void: everyone who handed in gets its full points",
    "drop": "void: it counts neither in the score nor in the maximum",
    "optional": "optional, not graded",
}


def load_voids(course: Path, chapter: str) -> Voids:
    """Return the void and optional exercises of a chapter. Raises UserError for a damaged file."""
    return Voids(_load(course).get(chapter, {}))


def save_voids(course: Path, chapter: str, changes: Mapping[str, Void | None]) -> None:
    """Store how some exercises count from now on; None for those that count as released."""
    everything = _load(course)
    cells = {**everything.get(chapter, {}), **changes}
    everything[chapter] = {cell: void for cell, void in cells.items() if void}
    write_json(_file(course), everything)


def _load(course: Path) -> dict[str, dict[str, Void]]:
    return read_json(_file(course), dict[str, dict[str, Void]], {})


def _file(course: Path) -> Path:
    return course / "voided.json"
