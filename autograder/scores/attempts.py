"""Keep the graded attempts of students in course/attempts, so that the best one can count.

An attempt is a folder as in `submitted`: the notebook, and what nbgrader needs beside it. Its name comes from the
notebook's content. A file that is handed in again keeps the earlier time.
"""

import hashlib
import os
import shutil
from datetime import datetime
from pathlib import Path

from autograder.course.files import read_json, write_json
from autograder.grading.submitted_file import OF_NBGRADER, read_file
from autograder.scores.hand_in_times import TIMESTAMP, read_timestamp

_SENTENCE = "counts.json"


def kept_attempts(course: Path, student: str, chapter: str) -> list[Path]:
    """Return the notebooks of a student's attempts, in the order in which they were handed in."""
    return sorted(_folder(course, student, chapter).glob(f"*/{chapter}.ipynb"), key=_order)


def keep_attempt(course: Path, student: str, chapter: str, submitted: Path) -> None:
    """Keep a submitted notebook that has been graded; an empty file is not an attempt. Raises OSError."""
    raw = read_file(submitted).raw
    if not raw:
        return
    folder = _folder(course, student, chapter) / hashlib.sha256(raw).hexdigest()[:16]
    earlier, now = time_in_folder(folder), time_in_folder(submitted.parent)
    if (folder / submitted.name).exists() and earlier and (now is None or earlier <= now):
        return
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _copy(submitted.parent, folder, submitted.name)


def restore_attempt(attempt: Path, submitted: Path) -> None:
    """Make the attempt that counts the submission that nbgrader grades. Raises OSError."""
    if attempt == submitted:
        return
    best = attempt.read_bytes(), time_in_folder(attempt.parent)
    if best != (read_file(submitted).raw, time_in_folder(submitted.parent)):
        _copy(attempt.parent, submitted.parent, attempt.name)


def time_in_folder(folder: Path) -> datetime | None:
    """Return the time in a folder's timestamp.txt; None if there is none."""
    try:
        return read_timestamp(read_file(folder / TIMESTAMP).raw)
    except ValueError:
        return None


def about_attempts(course: Path, student: str, chapter: str, counts: str = "best") -> str:
    """Return which attempt counted when a student was last graded, as a sentence; "" if there was only one.

    counts: from `which_counts`. If the last attempt counts, there is nothing to say.
    """
    return read_json(_folder(course, student, chapter) / _SENTENCE, str, "") if counts == "best" else ""


def save_about_attempts(course: Path, student: str, chapter: str, sentence: str) -> None:
    """Store which attempt counts, for the student's page and the class report."""
    if sentence != about_attempts(course, student, chapter):
        write_json(_folder(course, student, chapter) / _SENTENCE, sentence)


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
    when = time_in_folder(notebook.parent)
    return (when - datetime(1970, 1, 1)).total_seconds() if when else notebook.stat().st_mtime, str(notebook)


def _folder(course: Path, student: str, chapter: str) -> Path:
    return course / "attempts" / student / chapter
