"""Read from a table that Canvas or Moodle exported who is enrolled.

Canvas's gradebook: instructure/canvas-lms, lib/gradebook_exporter.rb (headers, "Points Possible", rows of "Manual
Posting", and names that begin with "=", which it writes as ="name"). Moodle's participants and grades: moodle/moodle,
user/classes/table/participants.php, grade/export (grade_export_userprofilefields), mod/assign/gradingtable.php.
"""

import re
from dataclasses import dataclass

from autograder.course.student_ids import reason_to_reject_id
from autograder.platforms.sheets import Sheet, UnusableTable

CANVAS_TEST_STUDENT = "Canvas's own test student"
_QUOTED = re.compile(r'="(.*)"', re.S)


@dataclass(frozen=True)
class Enrolled:
    """A student in a roster."""

    id: str
    first_name: str
    last_name: str
    email: str


@dataclass(frozen=True)
class Roster:
    """The students of a table.

    description: which table was read, and which column holds the ids. skipped: (row, reason) in words.
    """

    description: str
    students: tuple[Enrolled, ...]
    skipped: tuple[tuple[str, str], ...]


def read_roster(sheet: Sheet) -> Roster:
    """Return the students in a table of Canvas or Moodle. Raises UnusableTable."""
    if sheet.has("ID") and (sheet.has("Student") or sheet.has("LastName", "FirstName")):
        return _read_canvas(sheet)
    if sheet.has("Email address") or sheet.has("Username") or sheet.has("ID number"):
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
    """Return whether a row is a student's; other rows hold possible points or "Manual Posting"."""
    return sheet.cell(row, "ID").isdecimal() and "Points Possible" not in "".join(row[:2])


def _read_canvas(sheet: Sheet) -> Roster:
    students, skipped = [], []
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
            students.append(Enrolled(sheet.cell(row, "ID"), plain_name(first), plain_name(last), ""))
    return Roster("Canvas's gradebook; ids are Canvas's numbers", tuple(students), tuple(skipped))


def _read_moodle(sheet: Sheet) -> Roster:
    rows = [row for row in sheet.rows if any(row)]
    id_column = _unique_column(sheet, rows)
    students, skipped = [], []
    for row in rows:
        student = sheet.cell(row, id_column)
        first, last = sheet.cell(row, "First name"), sheet.cell(row, "Last name") or sheet.cell(row, "Surname")
        if reason := reason_to_reject_id(student):
            skipped.append((student, reason))
        else:
            first = first if first or last else sheet.cell(row, "Full name")
            students.append(Enrolled(student, first, last, sheet.cell(row, "Email address")))
    return Roster(f"a table of Moodle's; ids are the column {id_column!r}", tuple(students), tuple(skipped))


def _unique_column(sheet: Sheet, rows: list[list[str]]) -> str:
    """Return the first column that identifies every participant. Raises UnusableTable."""
    for header in ("Username", "ID number", "Email address"):
        values = [sheet.cell(row, header) for row in rows]
        if all(values) and len(set(values)) == len(values):
            return header
    raise UnusableTable(
        f"{sheet.name} has no column Username, ID number or Email address that is filled in for everybody, each value "
        "once"
    )
