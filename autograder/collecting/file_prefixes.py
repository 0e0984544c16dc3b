"""What a platform calls each student in the names of their files, kept for the feedback that goes back."""

import json
from pathlib import Path

from autograder.course.atomic_write import write_atomically


def save_prefixes(course: Path, chapter: str, platform: str, prefixes: dict[str, str]) -> None:
    """Add the prefixes of these students to those of earlier downloads; prefixes: student -> prefix."""
    if prefixes:
        saved = load_prefixes(course, chapter)
        path = _file(course, chapter)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({**saved, platform: saved.get(platform, {}) | prefixes}, indent=1))


def load_prefixes(course: Path, chapter: str) -> dict[str, dict[str, str]]:
    """Return platform -> student -> prefix; {} if no submission was collected from a platform."""
    path = _file(course, chapter)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _file(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}.json"
