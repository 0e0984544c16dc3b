"""From what a platform says of a file to the student's id: the roster's, and never a name that students choose.

Moodle's number is the participant's in one assignment (mod_assign's get_uniqueid_for_user): two of one name have two,
one student has another in each assignment. Who a participant is says the assignment's grading worksheet, or, where one
asks for it, the display name.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime

from autograder.errors import UserError
from autograder.platforms.file_names import Layout, Named
from autograder.platforms.sheets import Sheet, UnusableTable, time_in
from check.words import quoted


@dataclass(frozen=True)
class Known:
    """A student of the roster."""

    id: str
    name: str
    email: str


@dataclass(frozen=True)
class Finder:
    """How students are found. words: said to whoever collects. find: Named -> id, or why there is none.

    times: the key of a student on the platform -> when they handed in, in UTC.
    """

    words: str
    find: Callable[[Named], tuple[str, str]]
    times: dict[str, datetime] = field(default_factory=dict)


class Undecided(UserError):
    """Whose a file is can be found in more than one way; the message says which to ask for."""


def finder(
    layout: Layout, names: Collection[Named], roster: Collection[Known], sheet: Sheet | None, by_name: bool
) -> Finder:
    """How the students of a download are found. names: what was read of its files. Raises Undecided, UnusableTable."""
    if layout.platform != "moodle":
        if by_name:
            raise Undecided("--by-name is for Moodle's downloads; this one names students by their ids")
        words = "ids are Canvas's numbers" if layout.platform == "canvas" else "ids are the folders' names"
        return Finder(words, lambda named: (named.key, named.why), _canvas_times(sheet) if sheet else {})
    if sheet:
        return _by_worksheet(sheet, roster)
    if by_name:
        return _by_name(names, roster)
    if len({named.name for named in names if named.key}) > 1 and any(each.name for each in roster):
        raise Undecided(
            "Moodle's names do not say safely whose a file is: give the assignment's grading worksheet, "
            "--table FILE, or, if students cannot change their names, --by-name"
        )
    words = "ids are Moodle's participant numbers, which hold for this assignment alone (--table FILE gives real ones)"
    return Finder(words, lambda named: (f"participant-{named.key}" if named.key else "", named.why))


def _by_name(names, roster):
    numbers = Counter(name for name, _ in {(named.name, named.key) for named in names})
    ids: dict[str, list[str]] = {}
    for student in roster:
        ids.setdefault(student.name, []).append(student.id)
    has_names = any(student.name for student in roster)

    def find(named):
        if not named.key:
            return "", named.why
        if numbers[named.name] > 1:
            return "", f"{numbers[named.name]} participants have this name: give the grading worksheet, --table FILE"
        there = ids.get(named.name, []) if has_names else [named.name]
        if len(there) != 1:
            return "", f"{'two students' if there else 'nobody'} in the roster has this name"
        return there[0], ""

    return Finder("ids are found by Moodle's display names, as you asked", find)


def participants(sheet: Sheet) -> dict[str, list[str]]:
    """Moodle's grading worksheet: participant's number -> row. Raises UnusableTable.

    See moodle/moodle, mod/assign/gradingtable.php: its heads, and col_recordid for "Participant 12".
    """
    if not sheet.has("Identifier"):
        raise UnusableTable(
            f"{sheet.name} is no grading worksheet: it has no column Identifier. Set Moodle's language to English, "
            "and download it again (Submissions, Download grading worksheet)"
        )
    numbers = (re.fullmatch(r"\D*(\d+)", sheet.cell(row, "Identifier")) for row in sheet.rows)
    return {number[1]: row for number, row in zip(numbers, sheet.rows, strict=True) if number}


def student_of(sheet: Sheet, row: list[str], number: str, roster: Collection[Known]) -> tuple[str, str]:
    """The id of the participant in a row of Moodle's grading worksheet, or why there is none."""
    given = [sheet.cell(row, head) for head in ("Username", "ID number", "Email address")]
    if not any(given):
        return f"participant-{number}", ""  # blind marking: nobody is to be known
    if not any(student.email or student.name for student in roster):
        return next(filter(None, given)), ""
    email = given[-1].casefold()
    found = {s.id for s in roster if s.id in given or (email and email == s.email.casefold())}
    if len(found) == 1:
        return found.pop(), ""
    return "", f"{'two students' if found else 'nobody'} in the roster is participant {number} of {sheet.name}"


# mod/assign/classes/downloader.php: where a group hands in together, the number is the group's; a participant may have
# the same.
_GROUP = "a group's file has the group's name and number, and is placed by hand"


def _letters(name):
    return "".join(filter(str.isalnum, name.casefold()))


def _by_worksheet(sheet, roster):
    rows = participants(sheet)

    def find(named):
        if not named.key:
            return "", named.why
        if named.key not in rows:
            return "", f"{sheet.name} has no participant {named.key}: {_GROUP}"
        theirs = sheet.cell(rows[named.key], "Full name")
        if theirs and _letters(named.name) not in _letters(theirs):
            return "", f"{sheet.name} has another name for participant {named.key}: {_GROUP}"
        return student_of(sheet, rows[named.key], named.key, roster)

    return Finder(
        "ids are found in Moodle's grading worksheet", find, _times(sheet, rows, "Last modified (submission)")
    )


def _canvas_times(sheet):
    if not sheet.has("user_id", "submitted_at"):
        raise UnusableTable(
            f"{sheet.name} has no columns user_id and submitted_at, as the submissions of Canvas's API have"
        )
    return _times(sheet, {sheet.cell(row, "user_id"): row for row in sheet.rows}, "submitted_at")


def _times(sheet, rows, head):
    """Key of a row -> the time in a column, where there is one; a dash is Moodle's word for none."""
    written = {key: cell for key, row in rows.items() if (cell := sheet.cell(row, head)) not in ("", "-")}
    read = {key: time_in(cell) for key, cell in written.items()}
    if strange := [written[key] for key, time in read.items() if time is None]:
        raise UnusableTable(
            f"{sheet.name}: {quoted(strange[0])} is no time that can be read. Moodle's are, if its language is "
            "English, and Canvas's, as its API gives them"
        )
    return {key: time for key, time in read.items() if time}
