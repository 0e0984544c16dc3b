"""Bring a learning platform's download into `course/submitted`, by nbgrader's own collector.

Every file of a download is placed, gives way to another of the same student, or is left with a reason: nothing is
merged, and nothing is written under a name from the download. A submission that gives way to a later one is kept in
`course/replaced`.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from autograder.collecting.file_prefixes import save_prefixes
from autograder.collecting.zip_or_folder import Entry, Unreadable, opened
from autograder.course.handout import Handout, load_handout
from autograder.course.student_ids import why_not_an_id
from autograder.gradebook.coursedir import CourseDirectory, open_coursedir
from autograder.gradebook.late_work import time_handed_in
from autograder.gradebook.queries import due_date, roster
from autograder.gradebook.submitted_folder import Placed, becomes, place
from autograder.grading import reading
from autograder.grading.submitted_file import MAX_BYTES, File
from autograder.platforms import file_names
from autograder.platforms.sheets import Sheet
from autograder.platforms.student_finder import Finder, finder
from check.words import size

MAX_NOTEBOOKS = 20  # of one student in one download; with MAX_BYTES, all that one student can make us read
MAX_TOTAL = 50 * MAX_BYTES
_Left = tuple[Entry, str]


@dataclass(frozen=True)
class Collected:
    """What became of a download.

    layout, ids: how it was read, in words. n_files: how many it held.
    placed: student -> "new", "replaced" or "unchanged". times: student -> where the time of handing in is from.
    gave_way: files of students of whom another file counts, with that in words. left: files, and why each was left.
    late: those whom the platform calls late.
    """

    layout: str
    ids: str
    n_files: int
    placed: dict[str, str]
    times: dict[str, str]
    gave_way: list[tuple[str, str]]
    left: list[tuple[str, str]]
    late: tuple[str, ...]


@dataclass(frozen=True)
class _Found:
    """A notebook, and whose it is."""

    entry: Entry
    student: str
    named: file_names.Named

    @property
    def order(self):
        return self.named.order, self.entry.written, -self.entry.name.count("/"), self.entry.name


def collect(
    download: Path, course: Path, chapter: str, sheet: Sheet | None = None, *, by_name: bool = False
) -> Collected:
    """Place the notebooks of a zip file, or of a folder, as submissions of a chapter.

    Args:
        sheet: Moodle's grading worksheet of the assignment, or the submissions of Canvas's API as a table.
        by_name: believe Moodle's display names.

    Raises Unusable, UnusableTable, Undecided.
    """
    coursedir = open_coursedir(course, chapter)
    released = load_handout(course, chapter)
    left: list[_Left] = []
    with tempfile.TemporaryDirectory() as temporary, opened(download) as entries:
        layout, people, found = _whose(entries, left, coursedir, sheet, by_name)
        chosen, gave_way = _choose(found, released, Path(temporary), left)
        due = due_date(coursedir)
        placed: dict[str, Placed] = {}
        for student, (each, path) in chosen.items():
            in_table = people.times.get(each.named.key)
            when, source = time_handed_in(layout.platform, each.named.late, each.entry.written, in_table, due)
            what = becomes(path, each.entry.written, coursedir, student)
            if what == "older":
                left.append((each.entry, f"older than the submission of {student} that is there"))
            else:
                placed[student] = Placed(path, each.entry.written, what, when, source)
        place(placed, coursedir, Path(temporary, "collected"))
        prefixes = {student: each.named.prefix for student, (each, _) in chosen.items() if student in placed}
        save_prefixes(course, chapter, layout.platform, {s: prefix for s, prefix in prefixes.items() if prefix})
    return Collected(
        layout.words,
        people.words,
        len(entries),
        {student: each.what for student, each in placed.items()},
        {student: each.source for student, each in placed.items()},
        gave_way,
        [(entry.name, why) for entry, why in left],
        tuple(student for student in placed if chosen[student][0].named.late),
    )


# --------------------------------------------------------------------------------------- the students


def _whose(
    entries: list[Entry], left: list[_Left], coursedir: CourseDirectory, sheet: Sheet | None, by_name: bool
) -> tuple[file_names.Layout, Finder, list[_Found]]:
    """How the download is laid out, how students are found, and the notebooks whose students are."""
    left += [(entry, entry.trouble) for entry in entries if entry.trouble]
    usable = [entry for entry in entries if not entry.trouble]
    root = file_names.root_of([entry.name for entry in usable])
    layout = file_names.layout_of([entry.name.removeprefix(root) for entry in usable])
    read = [(entry, layout.read(entry.name.removeprefix(root))) for entry in usable]
    people = finder(layout, [named for _, named in read], roster(coursedir), sheet, by_name)
    found = []
    for entry, named in read:
        student, why = people.find(named)
        if why := why or why_not_an_id(student):
            left.append((entry, why))
        else:
            found.append(_Found(entry, student, named))
    return layout, people, found


# -------------------------------------------------------------------------------------- the notebooks


def _choose(found: list[_Found], released: Handout, folder: Path, left: list[_Left]):
    """Student -> the notebook that counts and where its bytes are now; and the files that gave way to one."""
    of_student: dict[str, list[_Found]] = {}
    for each in sorted(found, key=lambda each: each.order, reverse=True):
        of_student.setdefault(each.student, []).append(each)
    chosen: dict[str, tuple[_Found, Path]] = {}
    gave_way: list[tuple[str, str]] = []
    total = 0
    for number, (student, all_of_them) in enumerate(sorted(of_student.items())):
        these: list[_Found] = []
        n_bytes = 0
        for each in all_of_them:
            n_bytes += each.entry.n_bytes
            if len(these) < MAX_NOTEBOOKS and n_bytes <= MAX_BYTES:
                these.append(each)
            else:
                most = f"{MAX_NOTEBOOKS} notebooks and {size(MAX_BYTES)}"
                left.append((each.entry, f"no more than {most} of one student are read"))
        best, raw = _best(these, released, left)
        if best and (total := total + len(raw)) > MAX_TOTAL:
            left.append((best.entry, f"no more than {size(MAX_TOTAL)} of one download is read"))
        elif best:
            path = folder / str(number)
            path.write_bytes(raw)
            chosen[student] = best, path
        gone = {id(entry) for entry, _ in left}  # a zip file may hold two of one name
        others = [each.entry.name for each in these if each is not best and id(each.entry) not in gone]
        gave_way += [(name, f"{student} handed in another one later") for name in others]
    return chosen, gave_way


def _best(these: list[_Found], released: Handout, left: list[_Left]) -> tuple[_Found | None, bytes]:
    """Of one student's notebooks, latest first, the first one that is of the chapter; else the first of no chapter."""
    fallback: tuple[_Found | None, bytes] = None, b""
    for each in these:
        try:
            raw = each.entry.read()
        except Unreadable as error:
            left.append((each.entry, str(error)))
            continue
        ids = reading.grade_ids(File(raw))
        if other := released.whose(ids):
            left.append((each.entry, f"it is the notebook of {other}, not of {released.chapter}"))
        elif ids & released.distinctive:
            return each, raw
        elif fallback[0] is None:
            fallback = each, raw
    return fallback
