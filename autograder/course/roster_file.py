"""Keep what nbgrader's gradebook has no place for: every identifier of a student, and who has withdrawn."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from autograder.course.files import read_json, write_json


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
    """Return what earlier rosters said. Raises UserError for a damaged file."""
    advice = "restore it from a backup, or delete it and import again"
    return read_json(_file(course), RosterFile, RosterFile(), advice)


def save_roster(course: Path, roster: RosterFile) -> None:
    """Replace what earlier rosters said."""
    fields = asdict(roster) | {"withdrawn": sorted(roster.withdrawn)}
    write_json(_file(course), fields)


def _file(course: Path) -> Path:
    return course / "roster.json"
