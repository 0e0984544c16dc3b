"""Scores put into a platform's own table: rows and columns are the platform's, so that it knows them again.

Canvas: instructure/canvas-lms, lib/gradebook_importer.rb: the student's columns come first, an assignment's head is
"name (id)" (Assignment.title_and_id), and an empty cell takes a score away, so a cell without a score of ours stays.
Moodle: moodle/moodle, mod/assign/feedback/offline/importgradeslib.php: Identifier, Grade and Last modified (grade) are
what it asks for; scores beyond the maximum grade it leaves out.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from autograder.platforms.grade_tables import Grades, Person
from autograder.platforms.rosters import is_student_of_canvas, plain_name
from autograder.platforms.sheets import Sheet, UnusableTable
from autograder.platforms.student_finder import Known, participants, student_of

_STUDENTS = (
    *("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Integration ID", "Root Account"),
    "Section",
)
_ASSIGNMENT = re.compile(r"(.*)\s\((\d+)\)", re.S)


@dataclass(frozen=True)
class Filled:
    """rows: the table. missing: ids of those with a score who have no row. notes: what to look at, in words."""

    rows: list[list]
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def fill_canvas(sheet: Sheet, grades: Grades, title: str = "") -> Filled:
    """Scores in Canvas's gradebook, as it exports it. title: the assignment's, if there is one chapter. Raises
    UnusableTable.
    """
    columns = [_assignment(sheet, title or each.name) for each in grades.columns]
    kept = [sheet.at(head) for head in _STUDENTS if sheet.has(head)]
    people = {person.id: person for person in grades.people}
    rows: list[list] = [[sheet.heads[at] for at in (*kept, *columns)]]
    there, notes = set(), []
    for row in sheet.rows:
        padded = [*row, *[""] * (len(sheet.heads) - len(row))]
        cells: list[str | float] = [padded[at] for at in columns]
        if is_student_of_canvas(sheet, row):
            ids = (sheet.cell(row, head) for head in ("ID", "SIS Login ID", "SIS User ID"))
            if person := next((people[each] for each in ids if each in people), None):
                there.add(person.id)
                cells = [c if score is None else score for c, score in zip(cells, person.finals, strict=True)]
        elif row and "Points Possible" in row[0]:
            for cell, column in zip(cells, grades.columns, strict=True):
                notes += _other_maximum("Canvas", cell, column)
        else:
            continue
        rows.append([*(plain_name(padded[at]) for at in kept), *cells])
    return Filled(rows, _missing(grades.people, there), tuple(notes))


def fill_moodle(sheet: Sheet, grades: Grades, roster: Collection[Known]) -> Filled:
    """Scores in the grading worksheet of one assignment; grades: of one chapter. Raises UnusableTable."""
    (column,) = grades.columns
    heads = ["Identifier", "Full name", "Grade", "Last modified (grade)"]
    for head in (heads[0], *heads[2:]):
        sheet.at(head)
    heads = [head for head in heads if sheet.has(head)]
    people = {person.id: person for person in grades.people}
    rows: list[list] = [heads]
    there, notes = set(), []
    for number, row in participants(sheet).items():
        found, _ = student_of(sheet, row, number, roster)
        person = people.get(found) or people.get(f"participant-{number}")
        score = person.finals[0] if person else None
        if person:
            there.add(person.id)
        rows.append([score if head == "Grade" and score is not None else sheet.cell(row, head) for head in heads])
        notes += _other_maximum("Moodle", sheet.cell(row, "Maximum grade"), column)
    return Filled(rows, _missing(grades.people, there), tuple(dict.fromkeys(notes)))


def _assignment(sheet: Sheet, title: str) -> int:
    """The column of the assignment with this title, or with this word in its title."""
    titles = {at: match[1] for at, head in enumerate(sheet.heads) if (match := _ASSIGNMENT.fullmatch(head))}
    exact = [at for at, each in titles.items() if title in (each, sheet.heads[at])]
    like = [at for at, each in titles.items() if title.casefold() in each.casefold()]
    found = exact or like
    if len(found) != 1:
        there = ", ".join(sheet.heads[at] for at in titles) or "none"
        raise UnusableTable(
            f"{sheet.name} has {'several assignments' if found else 'no assignment'} called {title}: say which with "
            f"--as TITLE. There are: {there}"
        )
    return found[0]


def _other_maximum(platform: str, cell: str | float, column):
    try:
        if float(cell) != column.points:
            yield f"{platform} gives up to {float(cell):g} points for {column.name}, the course {column.points:g}"
    except ValueError:
        return


def _missing(people: Collection[Person], there: set[str]) -> tuple[str, ...]:
    return tuple(p.id for p in people if p.id not in there and any(score is not None for score in p.finals))
