"""Place submissions in `course/submitted`."""

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec
from nbgrader.coursedir import CourseDirectory

from autograder.course.files import replacing
from autograder.course.regrade_requests import FILE as REQUESTS
from autograder.course.regrade_requests import MAX_BYTES as MAX_REQUESTS
from autograder.gradebook.coursedir import student_file
from autograder.grading.submitted_file import NOT_READ, OF_NBGRADER, NotRead
from autograder.scores.hand_in_times import TIMESTAMP, timestamp_text

MAX_NAME = 100  # bytes of the name of an unusable file that are kept


@dataclass(frozen=True)
class Placement:
    """A notebook to place for a student.

    path: where its bytes are. written: the file's time, in seconds since 1970.
    effect: "new", "replaced" or "unchanged". handed_in: in UTC; None if unknown.
    """

    path: Path
    written: float
    effect: str
    handed_in: datetime | None


def effect_of(path: Path, written: float, coursedir: CourseDirectory, student: str) -> str:
    """Return the effect of placing a notebook: "new", "replaced", "unchanged", or "older" if it must not be placed."""
    submitted = student_file(coursedir, "submitted", student)
    if not submitted.exists():
        return "new"
    if path.read_bytes() == submitted.read_bytes():
        return "unchanged"
    return "replaced" if written >= int(submitted.stat().st_mtime) else "older"


def submitted_content(coursedir: CourseDirectory, student: str) -> bytes | None:
    """Return the bytes of a student's notebook in the course; None if there is no notebook."""
    submitted = student_file(coursedir, "submitted", student)
    return submitted.read_bytes() if submitted.exists() else None


def place(placements: Mapping[str, Placement], coursedir: CourseDirectory) -> None:
    """Place notebooks, each with nbgrader's timestamp.txt. placements: student -> placement."""
    changed = {student: placement for student, placement in placements.items() if placement.effect != "unchanged"}
    _keep_replaced([student_file(coursedir, "submitted", student) for student in changed], Path(coursedir.root))
    for student, placement in placements.items():
        submitted = student_file(coursedir, "submitted", student)
        if student in changed:
            _put(placement, submitted)
        else:
            _write_time(placement.handed_in, submitted)


def place_unusable(
    files: Mapping[str, bytes],
    not_read: NotRead | None,
    handed_in: datetime | None,
    coursedir: CourseDirectory,
    student: str,
) -> None:
    """Place the files of a student without a notebook, so that grading tells the student what to hand in.

    Args:
        files: name -> content.
        not_read: the file that could not be read, if there is one.
        handed_in: in UTC; None if unknown. Points of a void exercise, or given by hand, may be late.
    """
    notebook = student_file(coursedir, "submitted", student)
    notebook.parent.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (notebook.parent / _unusable_name(name)).write_bytes(content)
    record_not_read(notebook.parent, not_read)
    _write_time(handed_in, notebook)


def _unusable_name(name: str) -> str:
    """The name for a file that is not a notebook: like the student's, but with no meaning for a program."""
    printable = "".join(character if character.isprintable() else "?" for character in name)
    end = printable.encode()[-MAX_NAME:].decode(errors="ignore")
    has_meaning = end.endswith(".ipynb") or end in ("", ".", "..", *OF_NBGRADER, NOT_READ)
    return f"{end} (not usable)" if has_meaning else end


def place_requests(content: bytes, coursedir: CourseDirectory, student: str) -> None:
    """Place a file with regrade requests beside the student's notebook; what is longer than its limit is cut."""
    path = student_file(coursedir, "submitted", student).with_name(REQUESTS)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content[: MAX_REQUESTS + 1])


def record_not_read(folder: Path, file: NotRead | None) -> None:
    """Record in a submission's folder that a file could not be read; None removes an earlier record."""
    path = folder / NOT_READ
    if file:
        path.write_bytes(msgspec.json.encode(file))
    else:
        path.unlink(missing_ok=True)


def _keep_replaced(submitted: Iterable[Path], course: Path) -> None:
    """Copy submissions that are about to be replaced, under names made from their content, so that none is lost."""
    for path in submitted:
        if path.exists():
            name = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            copy = course / "replaced" / path.parent.parent.name / path.parent.name / f"{name}.ipynb"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)


def _put(placement: Placement, submitted: Path) -> None:
    """Replace everything that a student handed in with a notebook and its time; no kill leaves half a notebook."""
    submitted.parent.mkdir(parents=True, exist_ok=True)
    with replacing(submitted) as part:
        shutil.copyfile(placement.path, part)
        # Keep the file's own time, so that the later of two downloads wins in any order of collection.
        os.utime(part, (placement.written, placement.written))
        for path in submitted.parent.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name not in (submitted.name, part.name):
                path.unlink()
        _write_time(placement.handed_in, submitted)


def _write_time(handed_in: datetime | None, submitted: Path) -> None:
    """Write when a notebook was handed in beside it, if that is known."""
    if handed_in:
        with replacing(submitted.with_name(TIMESTAMP)) as part:
            part.write_text(timestamp_text(handed_in), encoding="utf-8")
