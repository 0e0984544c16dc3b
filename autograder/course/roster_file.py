"""Keep what nbgrader's gradebook has no place for: every identifier of a student, and who has withdrawn."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from autograder.course.atomic_write import write_atomically
from autograder.errors import UserError


@dataclass(frozen=True)
class RosterFile:
    """What earlier rosters said.

    ids: the column whose values become ids; "" before the first roster.
    identifiers: student -> column of a platform's table -> value, such as {"Email address": "ada@example.org"}.
    withdrawn: ids of students who left the course; their scores stay in the gradebook.
    """

    ids: str = ""
    identifiers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    withdrawn: frozenset[str] = frozenset()


def load_roster(course: Path) -> RosterFile:
    """Return what is kept of earlier rosters. Raises UserError for a damaged file."""
    path = _file(course)
    try:
        return msgspec.json.decode(path.read_bytes(), type=RosterFile) if path.exists() else RosterFile()
    except msgspec.DecodeError as error:
        raise UserError(f"{path} is damaged ({error}): restore it from a backup, or delete it and import again") from (
            error
        )


def save_roster(course: Path, roster: RosterFile) -> None:
    """Replace what is kept of earlier rosters."""
    fields = asdict(roster) | {"withdrawn": sorted(roster.withdrawn)}
    write_atomically(_file(course), msgspec.json.format(msgspec.json.encode(fields)).decode(), mode=0o600)


def _file(course: Path) -> Path:
    return course / "roster.json"
