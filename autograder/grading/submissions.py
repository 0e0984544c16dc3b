"""List the submissions in `course/submitted`."""

from collections.abc import Iterable
from pathlib import Path

from autograder.course.student_ids import reason_to_reject_id
from autograder.errors import UserError
from check.words import shown


class NoSubmissions(UserError):
    """There is nothing to grade. The message says where submissions are expected."""


def submitted_files(course: Path, chapter: str) -> dict[str, Path]:
    """Return the name of each student's folder -> the file to grade, which may be missing."""
    folders = sorted((course / "submitted").glob(f"*/{chapter}"))
    return {folder.parent.name: folder / f"{chapter}.ipynb" for folder in folders}


def submissions(course: Path, chapter: str, students: Iterable[str] = ()) -> dict[str, Path]:
    """Return student id -> the file to grade. Folders whose names cannot be ids are left out.

    students: the ids to return; by default all. Raises NoSubmissions.
    """
    submitted, files = course / "submitted", submitted_files(course, chapter)
    if missing := sorted(set(students) - set(files)):
        raise NoSubmissions(f"no submission of {chapter} by {', '.join(map(shown, missing))} in {submitted}")
    usable = {student: path for student, path in files.items() if not reason_to_reject_id(student)}
    if not usable:
        place = f"{submitted}/STUDENT/{chapter}/{chapter}.ipynb"
        expected = f"no submissions of {chapter}: they are expected as {place}"
        raise NoSubmissions("\n".join([expected, *invalid_id_messages(files)]))
    return {student: path for student, path in usable.items() if student in students or not students}


def invalid_id_messages(folders: Iterable[str]) -> list[str]:
    """Return a sentence for each folder of submissions whose name cannot be a student's id."""
    return [
        f"{shown(folder)}: {reason}: rename {shown(folder)}"
        for folder in folders
        if (reason := reason_to_reject_id(folder))
    ]
