"""Recognise the students of a course by any identifier that a platform shows of them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from autograder.errors import UserError
from check.words import did_you_mean

# Columns of a platform's table that identify a student: Canvas's login, and Moodle's address.
CANVAS_LOGIN = "SIS Login ID"
EMAIL = "Email address"


@dataclass(frozen=True)
class KnownStudent:
    """A student in the gradebook. identifiers: column of a platform's table -> value."""

    id: str
    name: str
    email: str
    identifiers: Mapping[str, str] = field(default_factory=dict)
    withdrawn: bool = False


class Directory:
    """Students by their identifiers. Letters may differ in case, as in addresses and user names.

    has_names: whether the name or the address of any student is known.
    """

    def __init__(self, students: Collection[KnownStudent]) -> None:
        self.has_names = any(student.email or student.name for student in students)
        self._ids: dict[tuple[str, str], list[str]] = {}
        for student in students:
            identifiers = {EMAIL: student.email, **student.identifiers}
            # An id that came from no table could be the value of any column.
            if student.id not in identifiers.values():
                identifiers[""] = student.id
            for column, value in identifiers.items():
                if value:
                    self._ids.setdefault((column, value.casefold()), []).append(student.id)

    def find(self, identifiers: Mapping[str, str]) -> list[str]:
        """Return the ids of the students who have any of these identifiers, each once."""
        values = [(column, value.casefold()) for column, value in identifiers.items() if value]
        return list(
            dict.fromkeys(
                id for column, value in values for key in (column, "") for id in self._ids.get((key, value), ())
            )
        )


def participant_id(number: str) -> str:
    """Return the id of a participant whose name Moodle hides, from the number in this assignment."""
    return f"participant-{number}"


def is_participant(student: str) -> bool:
    return re.fullmatch(participant_id(r"\d+"), student) is not None


def enrolled(students: Collection[KnownStudent]) -> set[str]:
    """Return the ids of the students who have not withdrawn."""
    return {student.id for student in students if not student.withdrawn}


def known_id(students: Collection[KnownStudent], student: str) -> str:
    """Return a student's id. Raises UserError if none of the students has it."""
    ids = [known.id for known in students]
    if student not in ids:
        hint = ids_hint(students, student) or did_you_mean(student, ids)
        raise UserError(f"there is no student {student!r} in the gradebook{hint}")
    return student


def ids_hint(students: Collection[KnownStudent], name: str) -> str:
    """Return the ids of the students with a name, an address or another identifier, as the end of a sentence.

    It is empty if there is no such student, or if the name is an id.
    """
    ids = [
        student.id
        for student in students
        if name.casefold() in map(str.casefold, (student.name, student.email, *student.identifiers.values()))
    ]
    return f"; the id of {name} is {' or '.join(ids)}" if ids and name not in ids else ""
