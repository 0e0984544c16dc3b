"""Keep the graded attempts of students in course/attempts, so that the best of them can count.

An attempt is a folder as in `submitted`: the notebook, and what nbgrader needs beside it. Its name comes from the
notebook's content. A file that is handed in again keeps the earlier time.
"""

import hashlib
import os
import shutil
from datetime import datetime
from pathlib import Path

from traitlets import Enum, TraitError
from traitlets.config import Config, Configurable

from autograder.course.json_file import read_json, write_json
from autograder.errors import UserError
from autograder.gradebook.hand_in_times import TIMESTAMP, read_timestamp
from autograder.grading.submitted_file import OF_NBGRADER, read_file

_SENTENCE = "counts.json"


class Attempts(Configurable):
    """Which of a student's graded attempts counts: c.Attempts.counts in nbgrader_config.py."""

    counts = Enum(["last", "best"], "last", help="the last one, or the one with the highest score").tag(config=True)


def which_counts(config: Config) -> str:
    """Return "last" or "best". Raises UserError if the configuration says anything else."""
    try:
        return Attempts(config=config).counts
    except TraitError as error:
        raise UserError(f'c.Attempts.counts in nbgrader_config.py must be "last" or "best": {error}') from error


def kept_attempts(course: Path, student: str, chapter: str) -> list[Path]:
    """Return the notebooks of a student's attempts, in the order in which they were handed in."""
    return sorted(_folder(course, student, chapter).glob(f"*/{chapter}.ipynb"), key=_order)


def keep_attempt(course: Path, student: str, chapter: str, submitted: Path) -> None:
    """Keep a submitted notebook that has been graded; a file without content is no attempt. Raises OSError."""
    raw = read_file(submitted).raw
    if not raw:
        return
    folder = _folder(course, student, chapter) / hashlib.sha256(raw).hexdigest()[:16]
    earlier, now = handed_in(folder), handed_in(submitted.parent)
    if (folder / submitted.name).exists() and earlier and (now is None or earlier <= now):
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _copy(submitted.parent, folder, submitted.name)


def restore_attempt(attempt: Path, submitted: Path) -> None:
    """Make a kept attempt the submission that nbgrader grades. Raises OSError."""
    if (attempt.read_bytes(), handed_in(attempt.parent)) != (read_file(submitted).raw, handed_in(submitted.parent)):
        _copy(attempt.parent, submitted.parent, attempt.name)


def handed_in(folder: Path) -> datetime | None:
    """Return the time in a folder's timestamp.txt; None if there is none."""
    try:
        return read_timestamp(read_file(folder / TIMESTAMP).raw)
    except ValueError:
        return None


def attempts_sentences(course: Path, student: str, chapter: str, counts: str) -> list[str]:
    """Return which attempt counted when a student was last graded, as one sentence; [] if there was only one.

    counts: from `which_counts`.
    """
    return list(filter(None, [_sentence(course, student, chapter)])) if counts == "best" else []


def save_sentence(course: Path, student: str, chapter: str, sentence: str) -> None:
    """Store which attempt counts, for the student's page and the class report."""
    if sentence != _sentence(course, student, chapter):
        write_json(_folder(course, student, chapter) / _SENTENCE, sentence)


def _sentence(course: Path, student: str, chapter: str) -> str:
    return read_json(_folder(course, student, chapter) / _SENTENCE, str, "")


def _copy(source: Path, target: Path, notebook: str) -> None:
    """Copy an attempt. The notebook comes first: after a killed run, no notebook has a time that is too early."""
    part = target / f"{notebook}.part"
    part.write_bytes(read_file(source / notebook).raw)
    shutil.copystat(source / notebook, part, follow_symlinks=False)
    os.replace(part, target / notebook)
    for name in OF_NBGRADER:
        (target / name).unlink(missing_ok=True)
        if content := read_file(source / name).raw:
            (target / name).write_bytes(content)


def _order(notebook: Path) -> tuple[float, str]:
    when = handed_in(notebook.parent)
    return (when - datetime(1970, 1, 1)).total_seconds() if when else notebook.stat().st_mtime, str(notebook)


def _folder(course: Path, student: str, chapter: str) -> Path:
    return course / "attempts" / student / chapter
