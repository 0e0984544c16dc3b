"""Pack feedback into the zip file that a platform takes back in bulk."""

import time
import zipfile
from pathlib import Path

from autograder.collecting.file_prefixes import load_prefixes
from autograder.errors import UserError, named_by_user
from autograder.platforms.feedback_names import NAMES


def zip_feedback(course: Path, chapter: str, platform: str, output: Path) -> tuple[list[str], dict[str, str]]:
    """Write a zip file with the pages of the students whose submissions came from a platform.

    Returns:
        The students whose pages it holds; and student -> the reason why a page is missing.

    Raises UserError if there is no feedback, or no submission from the platform, or if the file cannot be written.
    """
    pages = {
        path.parent.parent.name: path for path in sorted((course / "feedback").glob(f"*/{chapter}/{chapter}.html"))
    }
    if not pages:
        raise UserError(f"there is no feedback on {chapter} in {course}: run `autograder grade {chapter}` first")
    prefixes = load_prefixes(course, chapter).get(platform, {})
    if not prefixes:
        raise UserError(f"no submission of {chapter} was collected from {platform.capitalize()}")
    included: list[str] = []
    missing: dict[str, str] = {}
    with named_by_user(output):
        archive = zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED)
    with archive:
        for student, page in pages.items():
            name = NAMES[platform](prefixes[student], page.name) if student in prefixes else ""
            if name in archive.namelist():  # a group of Canvas has one name, and Canvas shows its page to all members
                included.append(student)
            elif name:
                info = zipfile.ZipInfo(name, time.localtime(page.stat().st_mtime)[:6])
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, page.read_bytes())
                included.append(student)
            elif student in prefixes:
                missing[student] = "Canvas cannot import a file for an anonymous number, or for this student's name"
            else:
                missing[student] = f"not collected from {platform.capitalize()}"
    missing |= {student: "not graded yet" for student in prefixes if student not in pages}
    return included, missing
