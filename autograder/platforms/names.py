"""Whose notebook a file is, from the names that learning platforms give to what they hand out."""

import re
from collections.abc import Callable
from dataclasses import dataclass

_MOODLE = re.compile(r"(?P<student>[^/]+)_(?P<number>\d+)_assignsubmission_file_?/?(?P<file>[^/]*)$")
_CANVAS = re.compile(r"(?P<student>[^/_]+)(?P<late>_LATE)?_(?P<user>\d+)_(?P<number>\d+)_(?P<file>[^/]*)$")
_FOLDER = re.compile(r"(?P<student>[^/]+)/(?:(?P<file>[^/]+)/(?P=file)|[^/]+)$")
_AGAIN = re.compile(r"-(\d+)$")


@dataclass(frozen=True)
class Named:
    """A file of a download. student: id for the gradebook; empty if the name does not say. late: Canvas says so.

    attempt: of two files of one student the one with the larger attempt was handed in later.
    """

    student: str
    attempt: tuple[int, ...] = ()
    late: bool = False


def named(path: str, id_of: Callable[[str], str]) -> Named:
    """Read the path of a file inside a download.

    Moodle writes "Ada Lovelace_4711_assignsubmission_file_01_attention.ipynb", or a folder of that name up to
    "file_". The number is the assignment's, so the student is known by name: id_of(name) gives the id. Canvas writes
    "lovelaceada_LATE_123_4567_01_attention-1.ipynb"; 123 is the student's Canvas id, which is the id here. A folder
    for each student, with the id for its name, is understood as well.
    """
    stem = path.removesuffix(".ipynb")
    if match := _MOODLE.search(stem):
        return Named(id_of(match["student"]), (int(match["number"]),))
    if match := _CANVAS.search(stem):
        again = _AGAIN.search(match["file"])
        return Named(match["user"], (int(again[1]) if again else 0, int(match["number"])), bool(match["late"]))
    if match := _FOLDER.search(stem):
        return Named(match["student"])
    return Named("")
