"""Keep which students handed a chapter in together."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.course.files import read_json, write_json


def save_teams(course: Path, chapter: str, teams: Mapping[str, Sequence[str]]) -> None:
    """Add teams to those of earlier downloads. teams: name -> ids of the members."""
    if teams:
        path = _file(course, chapter)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {**load_teams(course, chapter), **teams})


def load_teams(course: Path, chapter: str) -> dict[str, list[str]]:
    """Return name -> ids of the members of each team; {} if no team handed in. Raises UserError for a damaged file."""
    return read_json(_file(course, chapter), dict[str, list[str]], {})


def _file(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}.teams.json"
