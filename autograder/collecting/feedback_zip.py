"""Feedback as the zip file that a platform takes back in bulk."""

import time
import zipfile
from pathlib import Path

from autograder.collecting.file_prefixes import load_prefixes
from autograder.errors import UserError, named_by_user
from autograder.platforms.feedback_names import NAMES


def zip_feedback(course: Path, chapter: str, platform: str, output: Path) -> tuple[list[str], dict[str, str]]:
    """Write the pages of those students who were collected from a platform.

    Returns the students whose pages are in it; and student -> why theirs is not. Raises UserError if none is.
    """
    pages = {
        path.parent.parent.name: path for path in sorted((course / "feedback").glob(f"*/{chapter}/{chapter}.html"))
    }
    if not pages:
        raise UserError(f"there is no feedback on {chapter} in {course}: run `autograder grade {chapter}` first")
    prefixes = load_prefixes(course, chapter).get(platform, {})
    if not prefixes:
        raise UserError(f"nobody's {chapter} was collected from {platform.capitalize()}")
    within, left = [], {}
    with named_by_user(output):
        archive = zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED)
    with archive:
        for student, page in pages.items():
            name = NAMES[platform](prefixes[student], page.name) if student in prefixes else ""
            if name:
                info = zipfile.ZipInfo(name, time.localtime(page.stat().st_mtime)[:6])
                info.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(info, page.read_bytes())
                within.append(student)
            elif student in prefixes:
                left[student] = "Canvas cannot take a file back for the name or the anonymous number it has given"
            else:
                left[student] = f"not collected from {platform.capitalize()}"
    left |= {student: "has no feedback: not graded yet" for student in prefixes if student not in pages}
    return within, left
