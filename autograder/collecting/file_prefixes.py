"""What a platform calls each student in the names of their files, kept for the feedback that goes back."""

from pathlib import Path

from autograder.course.files import read_json, write_json


def save_prefixes(course: Path, chapter: str, platform: str, prefixes: dict[str, str]) -> None:
    """Add the prefixes of these students to those of earlier downloads; prefixes: student -> prefix."""
    if prefixes:
        saved = load_prefixes(course, chapter)
        path = _file(course, chapter)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {**saved, platform: saved.get(platform, {}) | prefixes})


def load_prefixes(course: Path, chapter: str) -> dict[str, dict[str, str]]:
    """Return platform -> student -> prefix; {} if no submission was collected from a platform.

    Raises UserError for a damaged file.
    """
    return read_json(_file(course, chapter), dict[str, dict[str, str]], {})


def _file(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}.json"
