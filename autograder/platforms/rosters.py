"""Read from a table that Canvas or Moodle exported who is enrolled.

Canvas's gradebook: instructure/canvas-lms, lib/gradebook_exporter.rb (headers, "Points Possible", rows of "Manual
Posting", and names that begin with "=", which it writes as ="name"). It lists students only. Moodle's participants:
moodle/moodle, user/action_redir.php (download_participants). It has names and the identity fields that the site shows,
but no roles, so it lists teachers too. Moodle's grades: grade/export (grade_export_userprofilefields).
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from autograder.platforms.known_students import CANVAS_LOGIN, EMAIL
from autograder.platforms.sheets import Sheet, UnusableTable

CANVAS_TEST_STUDENT = "Canvas's own test student"
# In the order in which they are preferred as ids.
MOODLE_IDENTIFIERS = ("Username", "ID number", EMAIL)
CANVAS_IDENTIFIERS = ("ID", CANVAS_LOGIN, "SIS User ID")
_ROUNDED = re.compile(r"\d([.,]\d+)?E\+\d+")
_QUOTED = re.compile(r'="(.*)"', re.S)


@dataclass(frozen=True)
class Listed:
    """A person in a table. identifiers: column -> value, for the cells that are not empty."""

    first_name: str
    last_name: str
    identifiers: Mapping[str, str]


@dataclass(frozen=True)
class Roster:
    """The people in a table.

    description: which table was read. columns: its columns that identify people. skipped: (row, reason) in words.
    """

    description: str
    columns: tuple[str, ...]
    people: tuple[Listed, ...]
    skipped: tuple[tuple[str, str], ...] = ()


def read_roster(sheet: Sheet) -> Roster:
    """Return the people in a table of Canvas or Moodle. Raises UnusableTable."""
    if sheet.has("ID") and (sheet.has("Student") or sheet.has("LastName", "FirstName")):
        return _read_canvas(sheet)
    if any(map(sheet.has, MOODLE_IDENTIFIERS)):
        return _read_moodle(sheet)
    raise UnusableTable(
        f"{sheet.name} is neither Canvas's gradebook (Student, ID, ...) nor a table of Moodle's participants in "
        "English (First name, Last name, Email address, ...)"
    )


def plain_name(cell: str) -> str:
    """Return a name without the quotation that Canvas puts around a name that begins with "="."""
    match = _QUOTED.fullmatch(cell.strip())
    return match[1] if match else cell.strip()


def is_canvas_student(sheet: Sheet, row: list[str]) -> bool:
    """Whether a row is a student's; other rows hold possible points or "Manual Posting"."""
    return sheet.cell(row, "ID").isdecimal() and "Points Possible" not in "".join(row[:2])


def identifiers_in(sheet: Sheet, row: list[str], columns: Collection[str]) -> dict[str, str]:
    """Return column -> value, for the columns that a row fills in. Raises UnusableTable for a rounded number."""
    identifiers = {column: value for column in columns if (value := sheet.cell(row, column))}
    for column, value in identifiers.items():
        if _ROUNDED.fullmatch(value):
            raise UnusableTable(
                f"{sheet.name}: a spreadsheet has rounded a number in the column {column} to {value}. Export the table "
                "again, and do not save it in a spreadsheet, or import this column as text"
            )
    return identifiers


def _read_canvas(sheet: Sheet) -> Roster:
    people, skipped = [], []
    for row in sheet.rows:
        if not is_canvas_student(sheet, row):
            continue
        name = plain_name(sheet.cell(row, "Student"))
        last, _, first = (
            name.partition(", ") if name else (sheet.cell(row, "LastName"), "", sheet.cell(row, "FirstName"))
        )
        if (last, first) == ("Student", "Test"):
            skipped.append((f"{last}, {first}", CANVAS_TEST_STUDENT))
        else:
            identifiers = identifiers_in(sheet, row, CANVAS_IDENTIFIERS)
            people.append(Listed(plain_name(first), plain_name(last), identifiers))
    columns = tuple(filter(sheet.has, CANVAS_IDENTIFIERS))
    return Roster("Canvas's gradebook", columns, tuple(people), tuple(skipped))


def _read_moodle(sheet: Sheet) -> Roster:
    people = []
    for row in filter(any, sheet.rows):
        first, last = sheet.cell(row, "First name"), sheet.cell(row, "Last name") or sheet.cell(row, "Surname")
        first = first if first or last else sheet.cell(row, "Full name")
        people.append(Listed(first, last, identifiers_in(sheet, row, MOODLE_IDENTIFIERS)))
    return Roster("a table of Moodle's", tuple(filter(sheet.has, MOODLE_IDENTIFIERS)), tuple(people))
