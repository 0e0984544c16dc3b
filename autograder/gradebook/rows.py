"""How a class came out: one row for each student."""

from dataclasses import dataclass

from autograder.grading.report import Report


@dataclass(frozen=True)
class StudentRow:
    """One student of a graded class.

    before: exercise -> score in the gradebook before this run. why: the report had to be written; empty if not.
    reused: the report was there already. written: gradebook and feedback were brought up to date just now.
    """

    student: str
    report: Report
    before: dict[str, float | None]
    why: str
    reused: bool
    written: bool


class Incomplete(Exception):
    """Some submissions could not be graded or written, through no fault of theirs. rows: the others'."""

    def __init__(self, rows: list[StudentRow], errors: list[str]):
        super().__init__("\n".join(errors))
        self.rows = rows
