"""Keep nbgrader from following links in submissions, and from copying their other files."""

import re
from datetime import datetime
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.grading.submitted_file import SECRET, read_file
from autograder.scores.hand_in_times import TIMESTAMP, read_timestamp, timestamp_text

_SECRET_FORM = re.compile("[0-9a-f]{128}")  # nbgrader's exchange draws a secret for each submission


class GuardedCourse(CourseDirectory):
    """A course folder from which Autograde copies only a student's notebook, and follows no link.

    nbgrader itself follows links, and copies all files into `autograded` and then into the feedback.
    """

    def get_existing_timestamp(self, dest_path: str) -> datetime | None:
        try:
            return read_timestamp(read_file(Path(dest_path, TIMESTAMP)).raw)
        except ValueError:
            self.log.warning("%s: its timestamp.txt holds no time, and is ignored", dest_path)
            return None


def keep_time_and_secret(coursedir: CourseDirectory, submitted: Path, folder: Path) -> None:
    """Copy the time, which nbgrader compares, and the exchange's secret, from which nbgrader makes the page's name."""
    timestamp = coursedir.get_existing_timestamp(str(submitted))
    secret = read_file(submitted / SECRET).raw[:200].decode("ascii", "replace").strip()
    kept = {
        TIMESTAMP: timestamp_text(timestamp) if timestamp else "",
        SECRET: secret if _SECRET_FORM.fullmatch(secret) else "",
    }
    for name, text in kept.items():
        if text:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def guarded(coursedir: CourseDirectory) -> CourseDirectory:
    """Return the same course folder, guarded."""
    values = {name: getattr(coursedir, name) for name in coursedir.trait_names(config=True)}
    return GuardedCourse(config=coursedir.config, parent=coursedir.parent, **values | {"ignore": ["*"]})
