"""Pack feedback into the zip file that a platform takes back in bulk."""

import time
import zipfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from autograder.collecting.file_prefixes import load_prefixes
from autograder.course.files import replacing
from autograder.errors import UserError, named_by_user
from autograder.platforms.feedback_names import NAMES, numbers_in
from autograder.platforms.known_students import Directory, KnownStudent
from autograder.platforms.rosters import CANVAS_IDENTIFIERS


def zip_feedback(
    known: Collection[KnownStudent], course: Path, chapter: str, platform: str, output: Path
) -> tuple[list[str], dict[str, str]]:
    """Write a zip file with the pages of the students whose submissions came from a platform, without withdrawn ones.

    known: the students of the gradebook.

    Returns:
        The students whose pages it holds; and student -> the reason why a page is missing.

    Raises UserError if there is no feedback, or no submission from the platform, or if the file cannot be written.
    """
    withdrawn = {student.id for student in known if student.withdrawn}
    paths = sorted((course / "feedback").glob(f"*/{chapter}/{chapter}.html"))
    pages = {student: path for path in paths if (student := path.parent.parent.name) not in withdrawn}
    if not pages:
        raise UserError(f"there is no feedback on {chapter} in {course}: run `autograder grade {chapter}` first")
    prefixes = load_prefixes(course, chapter).get(platform, {})
    if not prefixes:
        raise UserError(f"no submission of {chapter} was collected from {platform.capitalize()}")
    included: list[str] = []
    missing: dict[str, str] = {}
    owners: dict[str, str] = {}  # name -> student; all members of a group on Canvas have the same name
    for student in _owners_first(pages, prefixes, known):
        page = pages[student]
        name = NAMES[platform](prefixes[student], page.name) if student in prefixes else ""
        if name:
            owner = owners.setdefault(name, student)
            if owner == student or page.read_bytes() == pages[owner].read_bytes():
                included.append(student)
            else:
                missing[student] = (
                    f"Canvas shows the whole group the page of {owner}, and this student's page differs, for example "
                    "in the score or the due date"
                )
        elif student in prefixes:
            missing[student] = "Canvas cannot import a file for an anonymous number, or for this student's name"
        else:
            missing[student] = f"not collected from {platform.capitalize()}"
    _write_zip({name: pages[owner] for name, owner in owners.items()}, output)
    missing |= {student: "not graded yet" for student in prefixes if student not in {*pages, *withdrawn}}
    return included, missing


def _write_zip(pages: Mapping[str, Path], output: Path) -> None:
    """Write a zip file. pages: name in the zip file -> page. Raises UserError; then the old file is unchanged."""
    with named_by_user(output), replacing(output) as part, zipfile.ZipFile(part, "w") as archive:
        for name, page in pages.items():
            info = zipfile.ZipInfo(name, time.localtime(page.stat().st_mtime)[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, page.read_bytes())


def _owners_first(students: Iterable[str], prefixes: Mapping[str, str], known: Collection[KnownStudent]) -> list[str]:
    """Sort the students, those with their own number in the prefix first, because Canvas has one number for a group."""
    directory = Directory(known)

    def is_other_member(student: str) -> bool:
        number = next(iter(numbers_in(prefixes.get(student, ""))), "")
        return student not in directory.find({CANVAS_IDENTIFIERS[0]: number})

    return sorted(students, key=is_other_member)
