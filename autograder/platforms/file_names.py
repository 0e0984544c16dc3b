"""Whose notebook a file is, from the names that learning platforms give to what they hand out.

Only what the platform itself wrote is believed, at the top level of the download; what students chose, the name of
their file and of themselves, is never an id. One layout is decided on for a download, the one most of it has.

Canvas: https://github.com/instructure/canvas-lms, lib/content_zipper.rb (add_submission, get_filename).
Moodle: https://github.com/moodle/moodle, mod/assign/classes/downloader.php (get_student_prefix).
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

# The participant's name holds no underscore, Moodle makes spaces of them; the number is the participant's in this
# assignment. A folder a student since 3.1, "file_" at first and "file" since 4.1; before, and as an option, one file.
_MOODLE = re.compile(r"(?P<prefix>(?P<name>[^_/]+)_(?P<number>\d+))_assignsubmission_[a-z]+(?:_[^/]*)?")
# The student's Canvas id and the attachment's. Both may also stand in what students chose, before and after.
_CANVAS = re.compile(r"(?=(?P<late>_LATE)?_(?P<user>[1-9]\d*)_(?P<attachment>[1-9]\d*)_[^/])")
_ANONYMOUS = re.compile(r"(?P<late>LATE_)?(?P<user>anon_[0-9A-Za-z]+)_(?P<attachment>[1-9]\d*)_[^/]+")


@dataclass(frozen=True)
class Named:
    """What a platform says of a file.

    key: the number or the word by which the platform knows the student; empty if nothing says it, and then `why` does.
    name: the display name, where Moodle gives one. order: of two files of one student the larger was handed in later.
    late: Canvas says so. prefix: what the name of a file for this student begins with, when it goes back.
    """

    key: str = ""
    name: str = ""
    order: tuple[int, ...] = ()
    late: bool = False
    prefix: str = ""
    why: str = field(default="", compare=False)


@dataclass(frozen=True)
class Layout:
    """How a download is laid out. words: said to whoever collects. read: path in the download -> Named."""

    platform: str
    words: str
    read: Callable[[str], Named]


def moodle(path: str) -> Named:
    """Read "Ada Lovelace_4711_assignsubmission_file/01_attention.ipynb", or the same without folders."""
    match = _MOODLE.fullmatch(path.split("/")[0])
    if not match:
        return Named(why="it does not stand where Moodle puts what participants hand in")
    return Named(match["number"], match["name"], prefix=match["prefix"])


def canvas(path: str) -> Named:
    """Read "lovelaceada_LATE_123_4567_01_attention-1.ipynb": 123 is the student, 4567 the attachment.

    Canvas writes the name in small letters. A name may end in a number, and a file's begin with two: where that leaves
    more than one reading, none is believed, so that whoever is called "eve_123" hands in for nobody.
    """
    readings = [m for m in _CANVAS.finditer(path) if path[: m.start()] == path[: m.start()].lower()]
    if "/" in path or not readings:
        return Named(why="it has no name that Canvas gives")
    if len(readings) > 1:
        users = " or ".join(dict.fromkeys(match["user"] for match in readings))
        return Named(why=f"its name can be read as {users}'s: collect it from a folder named after the student's id")
    (match,) = readings
    prefix = f"{path[: match.start()]}{match['late'] or ''}_{match['user']}_{match['attachment']}"
    return Named(match["user"], order=(int(match["attachment"]),), late=bool(match["late"]), prefix=prefix)


def anonymous(path: str) -> Named:
    """Read "anon_Ab3xZ_4567_01_attention.ipynb", which Canvas writes where grading is anonymous."""
    match = _ANONYMOUS.fullmatch(path)
    if not match:
        return Named(why="it has no name that Canvas gives where grading is anonymous")
    prefix = f"{match['late'] or ''}{match['user']}_{match['attachment']}"
    return Named(match["user"], order=(int(match["attachment"]),), late=bool(match["late"]), prefix=prefix)


def folders(path: str) -> Named:
    """Read "ada/01_attention.ipynb", or whatever lies deeper in the folder of a student."""
    student, _, rest = path.partition("/")
    return Named(student) if rest and student else Named(why="its name does not say whose it is")


LAYOUTS = (
    Layout("moodle", "Moodle's download", moodle),
    Layout("canvas", "Canvas's download, with anonymous names", anonymous),
    Layout("canvas", "Canvas's download", canvas),
    Layout("folders", "a folder for each student, named after the id", folders),
)


def layout_of(paths: Collection[str]) -> Layout:
    """The layout that most of what lies at the top of a download has; folders if that is none of a platform's."""
    tops = {path.partition("/")[0]: "/" in path for path in paths}

    def fitting(layout):
        if layout.read is canvas:  # a name with more than one reading is Canvas's all the same
            return sum(not folder and bool(_CANVAS.search(top)) for top, folder in tops.items())
        return sum(bool(layout.read(top).key) for top, folder in tops.items() if layout.read is moodle or not folder)

    best = max(LAYOUTS[:-1], key=fitting)
    return best if 2 * fitting(best) > len(tops) else LAYOUTS[-1]


def root_of(paths: Collection[str]) -> str:
    """The one folder, with its slash, that a platform's download was packed into again; empty if there is none."""
    roots = {path.partition("/")[0] for path in paths}
    if len(roots) != 1 or not all("/" in path for path in paths) or layout_of(paths).platform != "folders":
        return ""
    inner = layout_of([path.partition("/")[2] for path in paths])
    return f"{roots.pop()}/" if inner.platform != "folders" else ""
