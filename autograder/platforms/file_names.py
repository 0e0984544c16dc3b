"""Read from the name of a file in a platform's download which student handed it in.

Only the top level of a download is read, because only there does the platform choose the names. Students choose the
names of their files and their own display names, so these are never ids. All files of a download are read with one
layout, the one that fits most of them.

Canvas: https://github.com/instructure/canvas-lms, lib/content_zipper.rb (add_submission, get_filename).
Moodle: https://github.com/moodle/moodle, mod/assign/classes/downloader.php (get_student_prefix).
"""

import re
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache

from autograder.layout import chapter_names

# Moodle replaces underscores in the participant's name with spaces; the number identifies the participant in this
# assignment. Since 3.1 each student has a folder, which ends in "file_" at first and in "file" since 4.1; earlier
# versions, and an option of later ones, write one file instead.
_MOODLE = re.compile(r"(?P<prefix>(?P<name>[^_/]+)_(?P<number>\d+))_assignsubmission_[a-z]+(?:_[^/]*)?")
_ANONYMOUS = re.compile(r"(?P<late>LATE_)?(?P<user>anon_[0-9A-Za-z]+)_(?P<attachment>[1-9]\d*)_[^/]+")


@dataclass(frozen=True)
class ParsedName:
    """What the platform wrote into the name of a file.

    key: the number or the word that identifies the student on the platform; empty if the name has none.
    name: the display name, in Moodle's downloads.
    order: of two files of one student, the one with the larger order was handed in later.
    late: whether Canvas marked the file as late.
    prefix: the beginning that the name of a feedback file for this student needs.
    reason: why there is no key.
    readings: if the name has no key because it can be read in several ways, all of them.
    """

    key: str = ""
    name: str = ""
    order: tuple[int, ...] = ()
    late: bool = False
    prefix: str = ""
    reason: str = field(default="", compare=False)
    readings: tuple["ParsedName", ...] = ()


@dataclass(frozen=True)
class Layout:
    """How a platform names the files of a download.

    platform: "canvas", "moodle" or "folders". description: for the person who collects.
    parse: path in the download -> ParsedName.
    """

    platform: str
    description: str
    parse: Callable[[str], ParsedName]


def parse_moodle(path: str) -> ParsedName:
    """Parse "Ada Lovelace_4711_assignsubmission_file/01_attention.ipynb", or the same without folders."""
    match = _MOODLE.fullmatch(path.split("/")[0])
    if not match:
        return ParsedName(reason="it is not in a place where Moodle puts submissions")
    # macOS unpacks a zip file to names in which an accent is a character of its own. Moodle's tables have none.
    name = unicodedata.normalize("NFC", match["name"])
    return ParsedName(match["number"], name, prefix=match["prefix"])


def parse_canvas(path: str) -> ParsedName:
    """Parse "lovelaceada_LATE_123_4567_01_attention-1.ipynb": student 123, attachment 4567.

    Canvas writes the student's name in lower case. The name may end in a number, and the name of the file may begin
    with two. A path with more than one reading therefore gets no key; otherwise a student who is called "eve_123"
    could hand in for student 123. `only_students_of` in `student_finder.py` chooses among the readings.
    """
    matches = [m for m in _canvas().finditer(path) if path[: m.start()] == path[: m.start()].lower()]
    if "/" in path or not matches:
        return ParsedName(reason="its name does not have Canvas's form")
    readings = [_of_canvas(path[: match.start()], match) for match in matches]
    if len(readings) == 1:
        return readings[0]
    users = " or ".join(dict.fromkeys(reading.key for reading in readings))
    return ParsedName(
        reason=f"its name could belong to student {users}: put it into a folder named after the student's id, and "
        "collect that folder",
        readings=tuple(readings),
    )


@cache
def _canvas() -> re.Pattern[str]:
    """The Canvas ids of the student and of the attachment, between two texts that the student chose.

    What the student chose may look like ids. The number of a released notebook such as "10_project.ipynb" is not an id.
    """
    chapters = "|".join(map(re.escape, chapter_names()))
    return re.compile(rf"(?=(?P<late>_LATE)?_(?P<user>[1-9]\d*)_(?!{chapters})(?P<attachment>[1-9]\d*)_[^/])")


def _of_canvas(before: str, match: re.Match[str]) -> ParsedName:
    """The parsed name for a match of Canvas's ids. before: the part of the name that precedes them."""
    prefix = f"{before}{match['late'] or ''}_{match['user']}_{match['attachment']}"
    return ParsedName(match["user"], order=(int(match["attachment"]),), late=bool(match["late"]), prefix=prefix)


def parse_anonymous(path: str) -> ParsedName:
    """Parse "anon_Ab3xZ_4567_01_attention.ipynb", which Canvas writes if grading is anonymous."""
    match = _ANONYMOUS.fullmatch(path)
    if not match:
        return ParsedName(reason="its name does not have Canvas's form for anonymous grading")
    prefix = f"{match['late'] or ''}{match['user']}_{match['attachment']}"
    return ParsedName(match["user"], order=(int(match["attachment"]),), late=bool(match["late"]), prefix=prefix)


def parse_folder(path: str) -> ParsedName:
    """Parse "ada/01_attention.ipynb", or a path deeper in the folder of a student."""
    student, _, rest = path.partition("/")
    return ParsedName(student) if rest and student else ParsedName(reason="it is not in a student's folder")


LAYOUTS = (
    Layout("moodle", "Moodle's download", parse_moodle),
    Layout("canvas", "Canvas's download, with anonymous names", parse_anonymous),
    Layout("canvas", "Canvas's download", parse_canvas),
    Layout("folders", "a folder for each student, named after the id", parse_folder),
)


def layout_of(paths: Collection[str]) -> Layout:
    """Return the layout that fits most entries at the top of a download; "folders" if no platform's does."""
    is_folder = {path.partition("/")[0]: "/" in path for path in paths}

    def n_fitting(layout: Layout) -> int:
        if layout.parse is parse_canvas:  # a name with more than one reading still has Canvas's form
            return sum(not folder and bool(_canvas().search(name)) for name, folder in is_folder.items())
        folders_too = layout.parse is parse_moodle
        return sum(bool(layout.parse(name).key) for name, folder in is_folder.items() if folders_too or not folder)

    *of_platforms, folders = LAYOUTS
    best = max(of_platforms, key=n_fitting)
    return best if 2 * n_fitting(best) > len(is_folder) else folders


def root_of(paths: Collection[str]) -> str:
    """Return the one folder, with its slash, that holds a whole download of a platform; empty if there is none."""
    tops = {path.partition("/")[0] for path in paths}
    if len(tops) != 1 or not all("/" in path for path in paths) or layout_of(paths).platform != "folders":
        return ""
    inner = layout_of([path.partition("/")[2] for path in paths])
    return f"{tops.pop()}/" if inner.platform != "folders" else ""
