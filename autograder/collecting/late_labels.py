"""Times of handing in that come from Canvas's LATE labels: each is a due date, or a second after it."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from autograder.course.files import read_json, write_json
from autograder.scores.attempts import time_in_folder


def save_times_of_labels(course: Path, chapter: str, times: Mapping[str, datetime]) -> None:
    """Note which times are made from a LATE label, or its absence, before they are written. times: student -> time."""
    if times:
        path = _file(course, chapter)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {**_load(course, chapter), **times})


def times_of_labels(course: Path, chapter: str) -> dict[str, datetime]:
    """Return student -> time, for the students whose time in the course was made from a LATE label, or its absence."""
    times = _load(course, chapter)
    return {s: time for s, time in times.items() if time_in_folder(course / "submitted" / s / chapter) == time}


def _load(course: Path, chapter: str) -> dict[str, datetime]:
    return read_json(_file(course, chapter), dict[str, datetime], {})


def _file(course: Path, chapter: str) -> Path:
    return course / "collected" / f"{chapter}.late.json"
