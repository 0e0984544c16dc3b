"""Fill scores into a platform's own table, whose rows and columns the platform recognises when it reads them again.

Canvas: instructure/canvas-lms, lib/gradebook_importer.rb. The student's columns come first, the header of an assignment
is "name (id)" (Assignment.title_and_id), and an empty cell deletes a score, so a cell without a score of ours keeps
Canvas's. Moodle: moodle/moodle, mod/assign/feedback/offline/importgradeslib.php. It requires Identifier, Grade and Last
modified (grade), and ignores scores beyond the maximum grade.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from autograder.platforms.grade_tables import Column, Grades, Person, Row
from autograder.platforms.known_students import CANVAS_LOGIN, Directory, KnownStudent, participant_id
from autograder.platforms.rosters import CANVAS_IDENTIFIERS, identifiers_in, is_canvas_student, plain_name
from autograder.platforms.sheets import Sheet, UnusableTable
from autograder.platforms.student_finder import participants, student_of

_STUDENT_COLUMNS = (
    *("Student", "LastName", "FirstName", "ID", "SIS User ID", CANVAS_LOGIN, "Integration ID", "Root Account"),
    "Section",
)
_ASSIGNMENT = re.compile(r"(.*)\s\((\d+)\)", re.S)
_DECIMAL_COMMA = re.compile(r"^(\d+),(\d+)$")


@dataclass(frozen=True)
class Filled:
    """A platform's table with our scores.

    missing: ids of students with a score but without a row. notes: how scores were scaled, in words.
    """

    rows: list[Row]
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def fill_canvas(
    sheet: Sheet, grades: Grades, roster: Collection[KnownStudent], title: str = "", *, scale: bool = False
) -> Filled:
    """Fill scores into the gradebook that Canvas exported.

    Args:
        title: of the assignment on Canvas, if there is one chapter; the chapter's name by default.
        scale: bring scores to Canvas's maximum where it is not the chapter's.

        Raises UnusableTable, also for a different maximum without `scale`.
    """
    columns = [_assignment_column(sheet, title or column.name) for column in grades.columns]
    kept = [sheet.column(header) for header in _STUDENT_COLUMNS if sheet.has(header)]
    people, directory = {person.id: person for person in grades.people}, Directory(roster)
    rows: list[Row] = [[sheet.headers[column] for column in (*kept, *columns)]]
    possible = [row for row in sheet.rows if row and "Points Possible" in row[0]]
    maxima = [sheet.cell_at(row, at) for row in possible[:1] for at in columns] or [""] * len(columns)
    factors = [_factor("Canvas", cell, column, scale) for cell, column in zip(maxima, grades.columns, strict=True)]
    filled: set[str] = set()
    for row in sheet.rows:
        cells: Row = [sheet.cell_at(row, column) for column in columns]
        if is_canvas_student(sheet, row):
            ids = directory.find(identifiers_in(sheet, row, CANVAS_IDENTIFIERS))
            if person := next((people[student] for student in ids if student in people), None):
                filled.add(person.id)
                scores = map(_scaled, person.finals, factors)
                cells = [cell if score is None else score for cell, score in zip(cells, scores, strict=True)]
        elif row not in possible:
            continue
        rows.append([*(plain_name(sheet.cell_at(row, column)) for column in kept), *cells])
    return Filled(rows, _missing(grades.people, filled), _notes(factors, grades))


def fill_moodle(sheet: Sheet, grades: Grades, roster: Collection[KnownStudent], *, scale: bool = False) -> Filled:
    """Fill the scores of one chapter into the grading worksheet of an assignment on Moodle.

    scale: bring scores to Moodle's maximum if it is not the chapter's.

    Raises UnusableTable, also for a different maximum without `scale`.
    """
    (column,) = grades.columns
    listed = participants(sheet)
    headers = ["Identifier", "Full name", "Grade", "Last modified (grade)"]
    for header in headers[2:]:
        sheet.column(header)
    headers = [header for header in headers if sheet.has(header)]
    people, directory = {person.id: person for person in grades.people}, Directory(roster)
    rows: list[Row] = [[*headers]]
    maximum = next((sheet.cell(row, "Maximum grade") for row in listed.values()), "")
    factor = _factor("Moodle", maximum, column, scale)
    filled: set[str] = set()
    for number, row in listed.items():
        student, _ = student_of(sheet, row, number, directory)
        person = people.get(student) or people.get(participant_id(number))
        score = _scaled(person.finals[0], factor) if person else None
        if person:
            filled.add(person.id)
        rows.append(
            [score if header == "Grade" and score is not None else sheet.cell(row, header) for header in headers]
        )
    return Filled(rows, _missing(grades.people, filled), _notes([factor], grades))


def _assignment_column(sheet: Sheet, title: str) -> int:
    """The column of the assignment with this title, or else with this text in its title."""
    titles = {at: match[1] for at, header in enumerate(sheet.headers) if (match := _ASSIGNMENT.fullmatch(header))}
    exact = [at for at, other in titles.items() if title in (other, sheet.headers[at])]
    similar = [at for at, other in titles.items() if title.casefold() in other.casefold()]
    matching = exact or similar
    if len(matching) != 1:
        assignments = ", ".join(sheet.headers[at] for at in titles) or "none"
        raise UnusableTable(
            f"{sheet.name} has {'several assignments' if matching else 'no assignment'} called {title}: name the right "
            f"one with --as TITLE. Its assignments are: {assignments}"
        )
    return matching[0]


def _factor(platform: str, cell: str, column: Column, scale: bool) -> float:
    """The factor that turns the chapter's points into the platform's maximum, which is in a cell.

    Without a maximum, scores stay as they are. Raises UnusableTable if the maximum is not a number, or if it differs
    from the points and `scale` is False.
    """
    if not cell.strip():
        return 1.0
    try:
        maximum = float(_DECIMAL_COMMA.sub(r"\1.\2", cell.strip()))
    except ValueError as error:
        raise UnusableTable(
            f"the maximum of {column.name} on {platform} is not a number: {cell!r}. Set it to {column.points:g} on "
            f"{platform}, and export the table again"
        ) from error
    if maximum == column.points:
        return 1.0
    if scale and maximum > 0 and column.points:
        return maximum / column.points
    raise UnusableTable(
        f"{platform} gives up to {maximum:g} points for {column.name}, the course {column.points:g}, so a full score "
        f"would count as {column.points:g} of {maximum:g}: set the maximum to {column.points:g} on {platform} and "
        "export the table again, or let scores be multiplied with --scale"
    )


def _scaled(score: float | None, factor: float) -> float | None:
    return score if score is None or factor == 1 else round(score * factor, 2)


def _notes(factors: Collection[float], grades: Grades) -> tuple[str, ...]:
    columns = zip(factors, grades.columns, strict=True)
    return tuple(f"scores of {column.name} are multiplied by {factor:g}" for factor, column in columns if factor != 1)


def _missing(people: Collection[Person], filled: set[str]) -> tuple[str, ...]:
    return tuple(p.id for p in people if p.id not in filled and any(score is not None for score in p.finals))
