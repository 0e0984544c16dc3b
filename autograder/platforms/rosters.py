"""Who is enrolled, from what Canvas and Moodle export themselves.

Canvas's gradebook: instructure/canvas-lms, lib/gradebook_exporter.rb (heads, "Points Possible", rows of "Manual
Posting", and names that begin with "=", which it writes as ="name"). Moodle's participants and grades: moodle/moodle,
user/classes/table/participants.php, grade/export (grade_export_userprofilefields), mod/assign/gradingtable.php.
"""

import re
from dataclasses import dataclass

from autograder.course.student_ids import why_not_an_id
from autograder.platforms.sheets import Sheet, UnusableTable

_QUOTED = re.compile(r'="(.*)"', re.S)


@dataclass(frozen=True)
class Enrolled:
    """A student as a platform has them."""

    id: str
    first_name: str
    last_name: str
    email: str


@dataclass(frozen=True)
class Roster:
    """words: what was read, and which column is the id. left: rows in words, and why they were left."""

    words: str
    students: tuple[Enrolled, ...]
    left: tuple[tuple[str, str], ...]


def read_roster(sheet: Sheet) -> Roster:
    """The students in a table of Canvas or Moodle. Raises UnusableTable."""
    if sheet.has("ID") and (sheet.has("Student") or sheet.has("LastName", "FirstName")):
        return _canvas(sheet)
    if sheet.has("Email address") or sheet.has("Username") or sheet.has("ID number"):
        return _moodle(sheet)
    raise UnusableTable(
        f"{sheet.name} is neither Canvas's gradebook (Student, ID, ...) nor a table of Moodle's participants in "
        "English (First name, Last name, Email address, ...)"
    )


def plain_name(cell: str) -> str:
    """A name as it is, where Canvas has made a quotation of one that begins with "="."""
    match = _QUOTED.fullmatch(cell.strip())
    return match[1] if match else cell.strip()


def is_student_of_canvas(sheet: Sheet, row: list[str]) -> bool:
    """Whether a row is a student's; the others hold possible points, or say that grades are posted by hand."""
    return sheet.cell(row, "ID").isdecimal() and "Points Possible" not in "".join(row[:2])


def _canvas(sheet):
    students, left = [], []
    for row in sheet.rows:
        if not is_student_of_canvas(sheet, row):
            continue
        name = plain_name(sheet.cell(row, "Student"))
        last, _, first = (
            name.partition(", ") if name else (sheet.cell(row, "LastName"), "", sheet.cell(row, "FirstName"))
        )
        if (last, first) == ("Student", "Test"):
            left.append((f"{last}, {first}", "Canvas's own test student"))
        else:
            students.append(Enrolled(sheet.cell(row, "ID"), plain_name(first), plain_name(last), ""))
    return Roster("Canvas's gradebook; ids are Canvas's numbers", tuple(students), tuple(left))


def _moodle(sheet):
    rows = [row for row in sheet.rows if any(row)]
    whole = [
        head
        for head in ("Username", "ID number", "Email address")
        if all(sheet.cell(row, head) for row in rows) and len({sheet.cell(row, head) for row in rows}) == len(rows)
    ]
    if not whole:
        raise UnusableTable(f"{sheet.name} has no user name, ID number or e-mail address for everybody, once each")
    students, left = [], []
    for row in rows:
        student = sheet.cell(row, whole[0])
        first, last = sheet.cell(row, "First name"), sheet.cell(row, "Last name") or sheet.cell(row, "Surname")
        if why := why_not_an_id(student):
            left.append((student, why))
        else:
            first = first if first or last else sheet.cell(row, "Full name")
            students.append(Enrolled(student, first, last, sheet.cell(row, "Email address")))
    return Roster(f"a table of Moodle's; ids are the column {whole[0]!r}", tuple(students), tuple(left))
