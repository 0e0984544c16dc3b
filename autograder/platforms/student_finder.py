"""Find the id of the student who handed in a file, from what the platform wrote and from the roster.

Moodle's number identifies a participant in one assignment (mod_assign's get_uniqueid_for_user): two participants with
the same name have different numbers, and a student's number changes from assignment to assignment. The assignment's
grading
worksheet says which student a number belongs to; the display name is used only if the instructor asks for it.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from autograder.errors import UserError
from autograder.platforms.file_names import Layout, ParsedName
from autograder.platforms.known_students import Directory, KnownStudent, participant_id
from autograder.platforms.rosters import CANVAS_IDENTIFIERS, MOODLE_IDENTIFIERS, identifiers_in
from autograder.platforms.sheets import Sheet, UnusableTable, own_zone, parse_time
from check.words import quoted

IdOrReason = tuple[str, str]  # a student's id and "", or "" and the reason why there is none


@dataclass(frozen=True)
class StudentFinder:
    """One way to find the students of a download.

    description: for the person who collects. find: parsed name -> id, or the reason why there is none.
    times: key of a student on the platform -> when they handed in, in UTC.
    members: parsed name -> a name for each member if a team handed in, or else [name].
    """

    description: str
    find: Callable[[ParsedName], IdOrReason]
    times: dict[str, datetime] = field(default_factory=dict)
    members: Callable[[ParsedName], list[ParsedName]] = lambda name: [name]


class Undecided(UserError):
    """There is more than one way to find the students; the message says which options decide."""


def choose_finder(
    layout: Layout,
    names: Collection[ParsedName],
    roster: Collection[KnownStudent],
    sheets: Sequence[Sheet],
    by_name: bool,
) -> StudentFinder:
    """Return the way to find the students of a download.

    Args:
        names: the parsed names of its files.
        sheets: tables of the platform that identify students or say when they handed in.
        by_name: trust Moodle's display names.

    Raises Undecided, UnusableTable.
    """
    if layout.platform != "moodle":
        if by_name:
            raise Undecided("--by-name is for Moodle's downloads; this download has the students' ids")
        groups = _only(sheet for sheet in sheets if sheet.has(*_CANVAS_GROUPS) and layout.platform == "canvas")
        with_times = _only(sheet for sheet in sheets if sheet is not groups)
        times = _canvas_times(with_times) if with_times else {}
        if layout.platform == "canvas":
            finder = _by_canvas_number(roster, times)
            return replace(finder, members=_canvas_team_finder(groups)) if groups else finder
        return _by_folder(roster, times)
    if worksheet := _only(sheets):
        return _by_worksheet(worksheet, roster, names)
    if by_name:
        return _by_name(names, roster)
    if len({name.name for name in names if name.key}) > 1 and any(student.name for student in roster):
        raise Undecided(
            "Moodle's display names do not reliably identify a student: give the assignment's grading worksheet, "
            "--table FILE, or, if students cannot change their names, --by-name"
        )
    return StudentFinder(
        "ids are Moodle's participant numbers, which are valid for this assignment only (--table FILE gives real ids)",
        lambda name: (participant_id(name.key) if name.key else "", name.reason),
    )


def only_students_of(roster: Collection[KnownStudent], name: ParsedName) -> ParsedName:
    """Return the only reading of a Canvas file's name that begins with a student of the roster and has their number.

    A student can choose a name and a file name that imitate another student. The true reading has the student's own
    number, so if two readings have numbers of the roster, the name stays as it is.
    """
    directory, names = Directory(roster), {student.id: student.name for student in roster}
    listed = [(reading, ids[0]) for reading in name.readings if (ids := directory.find({"ID": reading.key}))]
    if len(listed) != 1:
        return name
    ((reading, student),) = listed
    before = reading.prefix.removesuffix(f"_{reading.key}_{reading.order[0]}").removesuffix("_LATE")
    # Canvas puts the last name first; the letters are the same in any order.
    return reading if sorted(_letters(before)) == sorted(_letters(names[student])) else name


def _only(sheets: Iterable[Sheet]) -> Sheet | None:
    """The one sheet, or None. Raises Undecided if there are more."""
    same = list(sheets)
    if len(same) > 1:
        names = " and ".join(sheet.name for sheet in same)
        raise Undecided(f"{names} are tables of the same kind: give one of them with --table")
    return same[0] if same else None


def _by_canvas_number(roster: Collection[KnownStudent], times: dict[str, datetime]) -> StudentFinder:
    directory = Directory(roster)

    def find(name: ParsedName) -> IdOrReason:
        ids = directory.find({"ID": name.key})
        return (ids[0] if len(ids) == 1 else name.key), name.reason

    return StudentFinder("ids are those of the roster, or Canvas's numbers", find, times)


def _by_folder(roster: Collection[KnownStudent], times: dict[str, datetime]) -> StudentFinder:
    ids, directory = {student.id for student in roster}, Directory(roster)

    def find(name: ParsedName) -> IdOrReason:
        known = directory.find(dict.fromkeys((*CANVAS_IDENTIFIERS, *MOODLE_IDENTIFIERS), name.key))
        return (known[0] if len(known) == 1 and name.key not in ids else name.key), name.reason

    return StudentFinder("ids are the folders' names, or those that the roster has for them", find, times)


# app/controllers/group_categories_controller.rb, export_headers
_CANVAS_GROUPS = ("canvas_user_id", "group_name")


def _canvas_team_finder(sheet: Sheet) -> Callable[[ParsedName], list[ParsedName]]:
    """A function that replaces the name of a team's file by one for each member, from Canvas's table of groups.

    Canvas writes a team's files once, with the number of one member (lib/content_zipper.rb, representatives). The
    prefix stays that member's: Canvas gives the feedback on its file to the whole team.
    """
    team_of = {sheet.cell(row, "canvas_user_id"): sheet.cell(row, "group_name") for row in sheet.rows}
    teams: dict[str, list[str]] = {}
    for number, team in team_of.items():
        if team:
            teams.setdefault(team, []).append(number)

    def members(name: ParsedName) -> list[ParsedName]:
        numbers = teams.get(team_of.get(name.key, ""), [name.key])
        return [replace(name, key=number) for number in numbers]

    return members


def _by_name(names: Collection[ParsedName], roster: Collection[KnownStudent]) -> StudentFinder:
    n_participants = Counter(name for name, _ in {(name.name, name.key) for name in names})
    ids: dict[str, list[str]] = {}
    for student in roster:
        ids.setdefault(student.name, []).append(student.id)
    has_names = any(student.name for student in roster)

    def find(name: ParsedName) -> IdOrReason:
        if not name.key:
            return "", name.reason
        if (n_with_name := n_participants[name.name]) > 1:
            return "", f"{n_with_name} participants have this name: give the grading worksheet, --table FILE"
        candidates = ids.get(name.name, []) if has_names else [name.name]
        if len(candidates) != 1:
            return "", f"{'more than one' if candidates else 'no'} student in the roster has this name"
        return candidates[0], ""

    return StudentFinder("ids are found by Moodle's display names, as you asked", find)


def participants(sheet: Sheet) -> dict[str, list[str]]:
    """Return the number of each participant in Moodle's grading worksheet -> row. Raises UnusableTable.

    See moodle/moodle, mod/assign/gradingtable.php: its headers, and col_recordid for "Participant 12".
    """
    if not sheet.has("Identifier"):
        raise UnusableTable(
            f"{sheet.name} is not a grading worksheet: it has no column Identifier. Set Moodle's language to English, "
            "and download it again (Submissions, Download grading worksheet)"
        )
    numbers = (re.fullmatch(r"\D*(\d+)", sheet.cell(row, "Identifier")) for row in sheet.rows)
    return {number[1]: row for number, row in zip(numbers, sheet.rows, strict=True) if number}


def student_of(sheet: Sheet, row: list[str], number: str, directory: Directory) -> IdOrReason:
    """Return the id of the participant in a row of Moodle's grading worksheet, or the reason why there is none."""
    identifiers, participant = identifiers_in(sheet, row, MOODLE_IDENTIFIERS), participant_id(number)
    # Blind marking hides who the participants are. Those who were graded blind keep their ids when Moodle shows names:
    # a number belongs to one person in one assignment (mod/assign/locallib.php, get_uniqueid_for_user_static).
    if not identifiers or directory.find({"": participant}):
        return participant, ""
    if not directory.has_names:
        return next(iter(identifiers.values())), ""
    ids = directory.find(identifiers)
    if len(ids) == 1:
        return ids[0], ""
    return "", f"{'more than one' if ids else 'no'} student in the roster is participant {number} of {sheet.name}"


# mod/assign/classes/downloader.php: if a group hands in together, the name and the number are the group's. A
# participant may have the same number.
_GROUP = (
    "if it is a group's file, download the worksheet again (if groups hand in together, it has a column Group), or put "
    "the file into course/submitted by hand"
)
# mod/assign/gradingtable.php, col_team: what it writes for those who are in no group, or in several.
_NO_TEAM = ("", "Default group", "Not a member of any group, so unable to make submissions.")


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _by_worksheet(sheet: Sheet, roster: Collection[KnownStudent], names: Collection[ParsedName]) -> StudentFinder:
    rows, directory = participants(sheet), Directory(roster)

    def find(name: ParsedName) -> IdOrReason:
        if not name.key:
            return "", name.reason
        if name.key not in rows:
            return "", f"{sheet.name} has no participant {name.key}: {_GROUP}"
        full_name = sheet.cell(rows[name.key], "Full name")
        if full_name and _letters(name.name) not in _letters(full_name):
            return "", f"{sheet.name} has another name for participant {name.key}: {_GROUP}"
        return student_of(sheet, rows[name.key], name.key, directory)

    times = _times(sheet, rows, "Last modified (submission)")
    description = "ids are found in Moodle's grading worksheet"
    if times:
        description += f"; its times are read in this machine's zone, {own_zone()}"
    return StudentFinder(description, find, times, _team_finder(sheet, rows, names))


def _team_finder(
    sheet: Sheet, rows: dict[str, list[str]], names: Collection[ParsedName]
) -> Callable[[ParsedName], list[ParsedName]]:
    """A function that replaces a team's name by one for each member, from the worksheet's column Group."""
    teams: dict[str, list[ParsedName]] = {}
    for number, row in rows.items():
        team, full_name = sheet.cell(row, "Group"), sheet.cell(row, "Full name") or "Participant"
        if team not in _NO_TEAM:
            # The name for feedback is a participant's, because Moodle takes it back for participants only.
            member = ParsedName(number, full_name, prefix=f"{full_name.replace('_', ' ')}_{number}")
            teams.setdefault(_letters(team), []).append(member)
    numbers: dict[str, set[str]] = {}
    for name in names:
        numbers.setdefault(_letters(name.name), set()).add(name.key)

    def members(name: ParsedName) -> list[ParsedName]:
        team = _letters(name.name)
        if not name.key or team not in teams:
            return [name]
        if len(numbers[team]) > 1:
            return [ParsedName(reason="two groups have this name: put it into course/submitted by hand")]
        return teams[team]

    return members


def _canvas_times(sheet: Sheet) -> dict[str, datetime]:
    if not sheet.has("user_id", "submitted_at"):
        raise UnusableTable(
            f"{sheet.name} has neither the columns user_id and submitted_at of a table of Canvas's submissions nor "
            f"{' and '.join(_CANVAS_GROUPS)} of a table of groups"
        )
    return _times(sheet, {sheet.cell(row, "user_id"): row for row in sheet.rows}, "submitted_at")


def _times(sheet: Sheet, rows: dict[str, list[str]], header: str) -> dict[str, datetime]:
    """Key of a row -> the time in a column, where it has one; Moodle writes a dash where it has none."""
    written = {key: cell for key, row in rows.items() if (cell := sheet.cell(row, header)) not in ("", "-")}
    times = {key: parse_time(cell) for key, cell in written.items()}
    if unreadable := [written[key] for key, time in times.items() if time is None]:
        raise UnusableTable(
            f"{sheet.name}: {quoted(unreadable[0])} is not a time in a form that we know: Moodle's if its language is "
            "English, or Canvas's as its API writes it"
        )
    return {key: time for key, time in times.items() if time}
