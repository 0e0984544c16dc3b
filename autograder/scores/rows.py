"""The result of grading a class: one row for each student."""

from dataclasses import dataclass
from pathlib import Path

from autograder.grading.report import Report
from autograder.scores.marks import Marks
from autograder.scores.voids import Voids


@dataclass(frozen=True)
class StudentRow:
    """One student of a graded class.

    why: the reason to write the report; empty if all of it was recorded already. reused: whether the report existed
    before this run. written: whether this run updated the gradebook and the feedback. voids: those of the chapter.
    folder: that of the attempt that counts, None for the one in `submitted`. latest: the report about the latest file,
    if another attempt counts. about_attempts: a sentence about which attempt counts.
    """

    student: str
    report: Report
    why: str
    reused: bool
    written: bool
    voids: Voids = Voids()
    folder: Path | None = None
    latest: Report | None = None
    about_attempts: str = ""

    @property
    def earned(self) -> float:
        """The score that grading computed, with the void exercises."""
        return Marks.graded(self.report, self.voids).raw

    @property
    def points(self) -> float:
        """The most points that grading can give."""
        return self.voids.maximum(self.report)


class Incomplete(Exception):
    """Some submissions could not be graded or written, but not because of their content. rows: those of the others."""

    def __init__(self, rows: list[StudentRow], errors: list[str]) -> None:
        super().__init__("\n".join(errors))
        self.rows = rows
