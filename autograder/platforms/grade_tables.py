"""Grades as the tables that spreadsheets and learning platforms read.

nbgrader's own exporter puts values between commas as they are, so that a comma in a name moves the score into
another column, and gives 0 to whoever handed in nothing. Here an ungraded chapter is an empty cell, which no
platform takes for a score.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.errors import named_by_user

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class Column:
    """A chapter in the gradebook: its name, when it is due, and all there is to earn."""

    name: str
    due: datetime | None
    points: float


@dataclass(frozen=True)
class Score:
    """One student's score in one chapter: before the penalty for being late, the penalty, and the score that counts."""

    raw: float
    penalty: float
    final: float
    handed_in: datetime | None


@dataclass(frozen=True)
class Person:
    """A student, with a score for each column; None where there is none."""

    id: str
    last_name: str | None
    first_name: str | None
    email: str | None
    scores: tuple[Score | None, ...]

    @property
    def finals(self) -> list[float | None]:
        return [None if score is None else score.final for score in self.scores]


@dataclass(frozen=True)
class Grades:
    """What the gradebook says of some chapters and some students."""

    columns: tuple[Column, ...]
    people: tuple[Person, ...]


def csv_table(grades: Grades) -> Iterator[list]:
    """A row for each student and chapter, with the columns of nbgrader's own exporter."""
    heads = "assignment duedate timestamp student_id last_name first_name email"
    yield [*heads.split(), "raw_score", "late_submission_penalty", "score", "max_score"]
    for number, column in enumerate(grades.columns):
        for person in grades.people:
            score = person.scores[number]
            names = [person.id, person.last_name, person.first_name, person.email]
            scores = [score.raw, score.penalty, score.final] if score else [None] * 3
            yield [column.name, column.due, score and score.handed_in, *names, *scores, column.points]


def canvas_table(grades: Grades) -> Iterator[list]:
    """The table that Canvas imports into its gradebook: one column a chapter, and a row of possible points.

    A number for an id is taken for Canvas's own, anything else for the login. Canvas makes an assignment of a column
    that it does not know; `filled_tables.fill_canvas` fills those of its own export. See Instructure's guide "How do I
    import grades in the Gradebook?".
    """
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *(each.name for each in grades.columns)]
    yield ["Points Possible", "", "", "", "", *(each.points for each in grades.columns)]
    for person in grades.people:
        name = ", ".join(filter(None, (person.last_name, person.first_name))) or person.id
        ids = [person.id, "", ""] if person.id.isdecimal() else ["", "", person.id]
        yield [name, *ids, "", *person.finals]


def moodle_table(grades: Grades) -> Iterator[list]:
    """The table that Moodle imports: map "Username" or "Email address" to the user, each chapter to its grade item.

    See MoodleDocs, "Grade import".
    """
    yield ["First name", "Last name", "Username", "Email address", *(each.name for each in grades.columns)]
    for person in grades.people:
        yield [person.first_name, person.last_name, person.id, person.email, *person.finals]


def write_table(rows: Iterable[list], path: Path) -> None:
    """Write rows as CSV; commas, quotes and line ends in names stay where they are."""
    with named_by_user(path), path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(map(harmless, row) for row in rows)


def harmless(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: text that begins like one gets an apostrophe before it.

    See OWASP, "CSV Injection". Numbers stay numbers, and a dash alone, Moodle's word for nothing, a dash. An id that
    begins so will not be found by the platform, which is the lesser evil.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) and value != "-" else value
