"""Keep which students handed a chapter in together."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from autograder.course.atomic_write import write_atomically


def save_teams(course: Path, chapter: str, teams: Mapping[str, Sequence[str]]) -> None:
    """Add teams to those of earlier downloads. teams: name -> ids of the members."""
    if teams:
        path = _file(course, chapter)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({**load_teams(course, chapter), **teams}, indent=1))


def load_teams(course: Path, chapter: str) -> dict[str, list[str]]:
    """Return name -> ids of the members of each team; {} if no team handed in."""
    path = _file(course, chapter)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _file(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}.teams.json"
