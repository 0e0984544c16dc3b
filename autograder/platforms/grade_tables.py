"""Write grades as tables that spreadsheets and learning platforms read.

nbgrader's own exporter does not quote values, so that a comma in a name moves the score into another column, and it
gives 0 to students who handed in nothing. Here an ungraded chapter is an empty cell, which no platform reads as a
score.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from autograder.course.files import replacing
from autograder.errors import named_by_user
from autograder.platforms.known_students import CANVAS_LOGIN, EMAIL

# Where a formula begins: at the start, and after what a spreadsheet may read as the end of a cell. East Asian
# spreadsheets also accept the wide forms of the signs.
FORMULA = re.compile(r"^(?=[\t\r\n])|(^|[;\t\r\n])(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")

Row = list[str | float | datetime | None]


@dataclass(frozen=True)
class Column:
    """A chapter in the gradebook: its name, when it is due, and the points of all its exercises."""

    name: str
    due: datetime | None
    points: float


@dataclass(frozen=True)
class Score:
    """One student's score in one chapter.

    raw: before the penalty for being late. penalty: points taken off. final: the score that counts. exercises: name ->
    points, which add up to `raw`; without those that count neither in a score nor in the maximum.
    """

    raw: float
    penalty: float
    final: float
    handed_in: datetime | None
    exercises: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Person:
    """A student, with a score for each column; None where the student has no score.

    identifiers: column of a platform's table -> value; empty if the student is in no roster.
    """

    id: str
    last_name: str | None
    first_name: str | None
    email: str | None
    identifiers: Mapping[str, str]
    scores: tuple[Score | None, ...]

    @property
    def finals(self) -> list[float | None]:
        return [None if score is None else score.final for score in self.scores]


@dataclass(frozen=True)
class Grades:
    """The grades of some students in some chapters."""

    columns: tuple[Column, ...]
    people: tuple[Person, ...]


def csv_table(grades: Grades, exercises: Sequence[str] = ()) -> Iterator[Row]:
    """Yield a row for each student and chapter, with the columns of nbgrader's own exporter.

    exercises: those that get a column of their own, on the right.
    """
    headers = "assignment duedate timestamp student_id last_name first_name email"
    yield [*headers.split(), "raw_score", "late_submission_penalty", "score", "max_score", *exercises]
    for number, column in enumerate(grades.columns):
        for person in grades.people:
            score = person.scores[number]
            names = [person.id, person.last_name, person.first_name, person.email]
            scores = [score.raw, score.penalty, score.final] if score else [None] * 3
            of_each = [score.exercises.get(exercise) if score else None for exercise in exercises]
            handed_in = score.handed_in if score else None
            yield [column.name, column.due, handed_in, *names, *scores, column.points, *of_each]


def canvas_table(grades: Grades) -> Iterator[Row]:
    """Yield the table that Canvas imports into its gradebook: a column for each chapter, and a row of possible points.

    A student of a Moodle roster gets the identifiers that Canvas may have from the same institution. Without a roster,
    an id that is a number is Canvas's own, and any other is a login. Canvas creates a new assignment for a column that
    it does not know; `filled_tables.fill_canvas` fills in the columns of Canvas's own export. See Instructure's guide
    "How do I import grades in the Gradebook?".
    """
    yield ["Student", "ID", "SIS User ID", CANVAS_LOGIN, "Section", *(column.name for column in grades.columns)]
    yield ["Points Possible", "", "", "", "", *(column.points for column in grades.columns)]
    for person in grades.people:
        name = ", ".join(filter(None, (person.last_name, person.first_name))) or person.id
        known = person.identifiers or {"ID" if person.id.isdecimal() else CANVAS_LOGIN: person.id}
        yield [
            *(name, known.get("ID", ""), known.get("SIS User ID") or known.get("ID number", "")),
            *(known.get(CANVAS_LOGIN) or known.get("Username") or known.get(EMAIL, ""), "", *person.finals),
        ]


def moodle_table(grades: Grades) -> Iterator[Row]:
    """Yield the table that Moodle imports.

    On import, map "Username", "ID number" or "Email address" to the user, and each chapter to its grade item. See
    MoodleDocs, "Grade import". Without a roster, we assume that an id is a user name.
    """
    headers = ["First name", "Last name", "Username", "ID number", EMAIL]
    yield [*headers, *(column.name for column in grades.columns)]
    for person in grades.people:
        known = person.identifiers or {"Username": person.id}
        username = known.get("Username") or known.get(CANVAS_LOGIN, "")
        id_number = known.get("ID number") or known.get("SIS User ID", "")
        yield [person.first_name, person.last_name, username, id_number, person.email, *person.finals]


def write_table(rows: Iterable[Row], path: Path) -> None:
    """Write rows as CSV; commas, quotes and line ends stay inside their cells.

    Raises UserError if it cannot write; then the old file is unchanged.
    """
    with named_by_user(path), replacing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(map(harmless, row) for row in rows)


def harmless(value: object) -> object:
    """Return a cell that no spreadsheet reads as a formula: an apostrophe goes before what begins like one.

    See OWASP, "CSV Injection". Numbers stay numbers, and a dash alone, which Moodle writes for nothing, stays a dash. A
    platform will not recognise an id that begins like a formula, but that does less harm than a formula.
    """
    return FORMULA.sub(r"\1'", value) if isinstance(value, str) and value != "-" else value
