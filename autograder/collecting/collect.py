"""Collect a learning platform's download: its notebooks become submissions in `course/submitted`.

Every file of a download is placed, superseded by another file of the same student, or skipped for a reason. Nothing is
merged, and no file is written under a name from the download. A submission that a later one replaces is kept in
`course/replaced`.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.collecting.file_prefixes import save_prefixes
from autograder.collecting.latest_notebooks import Candidate, Skipped, latest_notebooks
from autograder.collecting.zip_or_folder import HIDDEN, NO_NOTEBOOK, Entry, open_download
from autograder.course.handout import load_handout
from autograder.course.student_ids import reason_to_reject_id
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.late_work import time_handed_in
from autograder.gradebook.queries import due_date, known_students
from autograder.gradebook.submitted_folder import Placement, effect_of, place
from autograder.platforms import file_names
from autograder.platforms.known_students import KnownStudent
from autograder.platforms.sheets import Sheet
from autograder.platforms.student_finder import StudentFinder, choose_finder


@dataclass(frozen=True)
class Collected:
    """What a download came to.

    layout, ids: how its files were named and its students found, in words. n_files: how many files it held.
    placed: student -> "new", "replaced" or "unchanged". sources: student -> where the time of handing in comes from.
    superseded: (file, reason) for files of students who handed in another one later. skipped: (file, reason).
    late: students whom the platform marked as late.
    """

    layout: str
    ids: str
    n_files: int
    placed: dict[str, str]
    sources: dict[str, str]
    superseded: list[tuple[str, str]]
    skipped: list[tuple[str, str]]
    late: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every notebook was placed or superseded; other files do not count."""
        return all(reason in (NO_NOTEBOOK, HIDDEN) for _, reason in self.skipped)


def collect(
    download: Path, course: Path, chapter: str, sheet: Sheet | None = None, *, by_name: bool = False
) -> Collected:
    """Place the notebooks of a zip file, or of a folder, as submissions of a chapter.

    Args:
        sheet: Moodle's grading worksheet of the assignment, or the submissions of Canvas's API as a table.
        by_name: trust Moodle's display names.

    Raises Unusable, UnusableTable, Undecided.
    """
    coursedir = open_coursedir(course, chapter)
    with tempfile.TemporaryDirectory() as temporary, open_download(download) as entries:
        layout, finder, candidates, skipped = _find_students(entries, known_students(coursedir), sheet, by_name)
        latest = latest_notebooks(candidates, load_handout(course, chapter), Path(temporary))
        skipped += latest.skipped
        due = due_date(coursedir)
        placements: dict[str, Placement] = {}
        sources: dict[str, str] = {}
        for student, (candidate, path) in latest.chosen.items():
            written = candidate.entry.written
            effect = effect_of(path, written, coursedir, student)
            if effect == "older":
                skipped.append((candidate.entry, f"older than the submission that {student} already has in the course"))
                continue
            in_table = finder.times.get(candidate.name.key)
            handed_in, source = time_handed_in(layout.platform, candidate.name.late, written, in_table, due)
            placements[student], sources[student] = Placement(path, written, effect, handed_in), source
        place(placements, coursedir, Path(temporary, "collected"))
    names = {student: latest.chosen[student][0].name for student in placements}
    save_prefixes(course, chapter, layout.platform, {s: name.prefix for s, name in names.items() if name.prefix})
    return Collected(
        layout.description,
        finder.description,
        len(entries),
        {student: placement.effect for student, placement in placements.items()},
        sources,
        latest.superseded,
        [(entry.name, reason) for entry, reason in skipped],
        tuple(student for student, name in names.items() if name.late),
    )


def _find_students(
    entries: Sequence[Entry], roster: Sequence[KnownStudent], sheet: Sheet | None, by_name: bool
) -> tuple[file_names.Layout, StudentFinder, list[Candidate], list[Skipped]]:
    """Return the layout of a download, the way to find its students, and the files with and without a known student."""
    usable = [entry for entry in entries if not entry.problem]
    skipped = [(entry, entry.problem) for entry in entries if entry.problem]
    root = file_names.root_of([entry.name for entry in usable])
    layout = file_names.layout_of([entry.name.removeprefix(root) for entry in usable])
    names = [layout.parse(entry.name.removeprefix(root)) for entry in usable]
    finder = choose_finder(layout, names, roster, sheet, by_name)
    candidates: list[Candidate] = []
    for entry, name in zip(usable, names, strict=True):
        student, reason = finder.find(name)
        if reason := reason or reason_to_reject_id(student):
            skipped.append((entry, reason))
        else:
            candidates.append(Candidate(entry, student, name))
    return layout, finder, candidates, skipped
