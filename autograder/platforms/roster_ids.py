"""Give the people in a roster their ids: a known student keeps the id, a new one gets it from a column of the table."""

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from autograder.course.student_ids import reason_to_reject_id
from autograder.platforms.known_students import CANVAS_LOGIN, EMAIL, Directory, KnownStudent
from autograder.platforms.rosters import Listed, Roster
from autograder.platforms.sheets import UnusableTable

# Column of Canvas or Moodle -> columns of the other platform for which the institution may give out the same value.
_ON_OTHER_PLATFORM = {
    "SIS User ID": ("ID number",),
    CANVAS_LOGIN: ("Username", EMAIL),
    "ID number": ("SIS User ID",),
    "Username": (CANVAS_LOGIN,),
    EMAIL: (CANVAS_LOGIN,),
}


@dataclass(frozen=True)
class Enrolled:
    """A student to write into the gradebook. An empty name stays as it is there."""

    id: str
    first_name: str
    last_name: str
    identifiers: Mapping[str, str]


@dataclass(frozen=True)
class Assigned:
    """The people in a table, with their ids.

    skipped: (person, reason) in words. not_listed: known students who are not in the table.
    """

    students: tuple[Enrolled, ...]
    skipped: tuple[tuple[str, str], ...]
    not_listed: tuple[KnownStudent, ...]


def choose_id_column(roster: Roster, known: Collection[KnownStudent], earlier: str, asked: str) -> str:
    """Return the column whose values become the ids of new students.

    Args:
        known: the students of the gradebook.
        earlier: the column of earlier rosters; empty if there was none.
        asked: the column that the instructor asks for; empty if none.

    Raises UnusableTable.
    """
    columns = {column.casefold(): column for column in roster.columns}
    if asked:
        if asked.casefold() not in columns:
            raise UnusableTable(f"this is {roster.description}, which has no column {asked!r} for ids: {_or(columns)}")
        return columns[asked.casefold()]
    if earlier:
        return earlier
    ids = {student.id for student in known}
    n_known = {c: sum(person.identifiers.get(c) in ids for person in roster.people) for c in roster.columns}
    if any(n_known.values()):
        return max(roster.columns, key=lambda column: n_known[column])
    for column in roster.columns:
        values = [person.identifiers[column] for person in roster.people if column in person.identifiers]
        if 2 * len(values) > len(roster.people) and len(set(values)) == len(values):
            return column
    raise UnusableTable(
        f"this is {roster.description}, which has no column that gives most people an id of their own: {_or(columns)}"
    )


def assign_ids(roster: Roster, known: Collection[KnownStudent], column: str) -> Assigned:
    """Return the people in a table with their ids: a known student keeps the id, a new one gets it from a column.

    A student whom only the other platform has listed is known by the institution's identifier together with the name.

    A new person without a value in the column is skipped: the table of the other platform lacks the column, and may
    list teachers. Raises UnusableTable if it lacks the column and everyone in it is new.
    """
    directory, by_id = Directory(known), {student.id: student for student in known}
    students: dict[str, Enrolled] = {}
    skipped, listed = list(roster.skipped), set[str]()
    for person in roster.people:
        matching = directory.find(person.identifiers)
        similar = [] if matching else [by_id[student] for student in directory.find(_on_other_platform(person))]
        matching = matching or [student.id for student in similar if _words(student.name) == _words(_name(person))]
        if not matching and similar:
            listed.update(student.id for student in similar)
            skipped.append((_name(person), _other_name(similar[0])))
            continue
        student = matching[0] if matching else person.identifiers.get(column, "")
        listed.update(matching or [student])  # who may be skipped below as another student with this id
        if reason := _problem(student, matching, by_id, column) or _twice(student, students):
            skipped.append((student if len(matching) < 2 and student else _name(person), reason))
        else:
            names = person.first_name, person.last_name
            # Only the table with the ids, and with both parts of a name, may move a word from one part to the other.
            may_move = column in roster.columns and all(names)
            if matching and not may_move and _words(by_id[student].name) == _words(_name(person)):
                names = "", ""
            students[student] = Enrolled(student, *names, person.identifiers)
    if skipped and not students and column not in roster.columns:
        raise UnusableTable(
            f"the ids in this course are Moodle's or Canvas's {column!r}, and this table has no such column and lists "
            "no student of the course. Export a table with this column, or choose another one for new students: --ids "
            f"with {_or({c: c for c in roster.columns})}"
        )
    return Assigned(tuple(students.values()), tuple(skipped), tuple(s for s in known if s.id not in listed))


def _problem(student: str, matching: list[str], ids: Collection[str], column: str) -> str:
    """Why a person in a table gets no id, or an empty string. matching: the known students it could be."""
    if len(matching) > 1:
        one, other = matching[:2]
        return (
            f"the gradebook has this person twice, as {one} and {other}: remove the one without scores, nbgrader db "
            f"student remove ID. If both have scores, first move what course/submitted/{one} lacks from "
            f"course/submitted/{other}, grade it, and remove {other} with --force"
        )
    if matching:
        return ""
    if not student:
        return f"has no {column}, as teachers often have none; a student needs one, or another column: --ids COLUMN"
    if student in ids:
        return "is the id of another student"
    return reason_to_reject_id(student)


def _twice(student: str, students: Collection[str]) -> str:
    return "is in the table twice" if student in students else ""


def _on_other_platform(person: Listed) -> dict[str, str]:
    """Column of the other platform -> the value that a person may have there."""
    return {
        other: value for column, value in person.identifiers.items() for other in _ON_OTHER_PLATFORM.get(column, ())
    }


def _words(name: str) -> list[str]:
    """The words of a name in any order, without accents, because platforms write names differently."""
    letters = (letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    return sorted(re.findall(r"[^\W_]+", "".join(letters).casefold()))


def _other_name(student: KnownStudent) -> str:
    return (
        f"has an identifier of {student.id} {student.name}, and another name: if they are one person, write that name "
        "into the table, and import it again"
    )


def _or(columns: Mapping[str, str]) -> str:
    return " or ".join(map(repr, columns.values()))


def _name(person: Listed) -> str:
    return " ".join(filter(None, (person.first_name, person.last_name))) or next(iter(person.identifiers.values()), "")
