"""Collect a learning platform's download: its notebooks become submissions in `course/submitted`.

Every file of a download is placed, superseded by another file of the same student, or skipped for a reason. Nothing is
merged, and no file is written under a name from the download. A submission that a later one replaces is kept in
`course/replaced`.
"""

import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from autograder.collecting.candidates import Candidate
from autograder.collecting.file_prefixes import save_prefixes
from autograder.collecting.find_students import Found, find_students
from autograder.collecting.late_labels import save_times_of_labels, times_of_labels
from autograder.collecting.latest_notebooks import Latest, latest_notebooks
from autograder.collecting.zip_or_folder import HIDDEN, NO_NOTEBOOK, Entry, Unreadable, open_download
from autograder.course.handout import load_handout
from autograder.course.regrade_requests import FILE
from autograder.course.roster_file import load_roster
from autograder.course.teams import save_teams
from autograder.gradebook.coursedir import open_coursedir
from autograder.gradebook.engine import usable_gradebook
from autograder.gradebook.queries import due_date, handed_in_and_due, known_students
from autograder.gradebook.regrading import gather, gradable
from autograder.gradebook.submitted_folder import (
    Placement,
    effect_of,
    place,
    place_requests,
    place_unusable,
    submitted_content,
)
from autograder.grading.submitted_file import NotRead
from autograder.platforms.known_students import KnownStudent
from autograder.platforms.sheets import Sheet
from autograder.scores.attempts import time_in_folder
from autograder.scores.hand_in_times import EXACT, LATE_LABEL, UNCHANGED, time_handed_in
from autograder.scores.hand_in_times import FILE as OWN_TIME
from autograder.scores.late import load_rules

MAX_UNUSABLE = 10  # files that we keep of a student without a notebook
MAX_UNUSABLE_BYTES = 20_000_000


@dataclass(frozen=True)
class Collected:
    """The result of collecting a download.

    layout, ids: how its files were named and its students found, in words. root: the folder in it that holds all of its
    files, with a slash, or "". n_files: how many files it held.
    placed: student -> "new", "replaced" or "unchanged". sources: student -> where the time of handing in comes from.
    superseded: (file, reason) for files of students whose other file counts. skipped: (file, reason).
    earlier_time: students whose file was replaced by one without a time, so that the time of the replaced file counts.
    late: students whom the platform marked as late. uncertain: those of them whose time comes from the label, and who
    have an extension. unusable: students who handed in no notebook of the chapter.
    undecided: students with several notebooks, of which none was taken and none is in the course.
    requests: students with a file of regrade requests. strangers: students who are not in the roster or have withdrawn.
    names: student -> name, for everyone in the roster.
    """

    layout: str
    ids: str
    root: str
    n_files: int
    placed: dict[str, str]
    sources: dict[str, str]
    superseded: list[tuple[str, str]]
    skipped: list[tuple[str, str]]
    earlier_time: tuple[str, ...]
    late: tuple[str, ...]
    uncertain: tuple[str, ...]
    unusable: tuple[str, ...]
    undecided: tuple[str, ...]
    requests: tuple[str, ...]
    strangers: tuple[str, ...]
    names: dict[str, str]

    @property
    def complete(self) -> bool:
        """Whether every student's notebook was placed or superseded; other files do not count."""
        return not self.unusable and all(reason in (NO_NOTEBOOK, HIDDEN) for _, reason in self.skipped)


def collect(
    download: Path, course: Path, chapter: str, sheets: Sequence[Sheet] = (), *, by_name: bool = False
) -> Collected:
    """Place the notebooks of a zip file, or of a folder, as submissions of a chapter.

    Args:
        sheets: Moodle's grading worksheet of the assignment; or the submissions of Canvas's API as a table, or the
            table of Canvas's groups that hand in together, or both.
        by_name: trust Moodle's display names.

    Raises Unusable, UnusableTable, Undecided, Busy.
    """
    coursedir, released = open_coursedir(course, chapter), load_handout(course, chapter)
    with usable_gradebook(coursedir) as gradebook:
        known = known_students(gradebook, load_roster(course))
        due, recorded = due_date(gradebook, chapter), handed_in_and_due(gradebook, chapter)
    with tempfile.TemporaryDirectory() as temporary, open_download(download) as entries:
        found = find_students(entries, known, sheets, by_name)
        layout, finder, skipped = found.layout, found.finder, found.skipped
        in_course = partial(submitted_content, coursedir)
        latest = latest_notebooks(found.candidates, released, Path(temporary), in_course)
        skipped += latest.skipped
        of_labels = times_of_labels(course, chapter)

        def handed_in_at(candidate: Candidate) -> tuple[datetime | None, str]:
            in_table = finder.times.get(candidate.name.key)
            return time_handed_in(layout.platform, candidate.name.late, candidate.entry.written, in_table, due)

        placements: dict[str, Placement] = {}
        sources: dict[str, str] = {}
        for student, (candidate, path) in latest.chosen.items():
            written = candidate.entry.written
            effect = effect_of(path, written, coursedir, student)
            if effect == "older":
                skipped.append((candidate.entry, "older than this student's submission in the course"))
                continue
            handed_in, source = handed_in_at(candidate)
            in_time = source == LATE_LABEL and not candidate.name.late
            known_time = time_in_folder(course / "submitted" / student / chapter)
            if effect == "unchanged" and source == LATE_LABEL and known_time and student not in of_labels:
                handed_in, source = None, EXACT
            elif effect == "unchanged" and source == OWN_TIME and handed_in and known_time:
                handed_in = min(handed_in, known_time)  # a copy of the folder may have later times
            elif effect == "unchanged" and student in found.requests and not in_time:
                handed_in, source = None, UNCHANGED  # a request must not make the notebook late
            placements[student], sources[student] = Placement(path, written, effect, handed_in), source
        unusable = {s: files for s, files in _without_notebook(found, latest).items() if in_course(s) is None}
        without_notebook = {student: handed_in_at(files[0]) for student, files in unusable.items()}
        times = {student: (new.handed_in, sources[student]) for student, new in placements.items()} | without_notebook
        of_labels = {student: time for student, (time, source) in times.items() if time and source == LATE_LABEL}
        save_times_of_labels(course, chapter, of_labels)
        place(placements, coursedir)
        requests, reasons = _requests(found, latest), dict(skipped)
        for student, candidate in requests.items():
            place_requests(_content(candidate), coursedir, student)
        for student, candidates in unusable.items():
            files = {one.own_name: _content(one) for one in candidates[:MAX_UNUSABLE]}
            place_unusable(files, _not_read(candidates, reasons), without_notebook[student][0], coursedir, student)
    gather(course, chapter, gradable(released))  # a later file may replace these
    names = {student: latest.chosen[student][0].name for student in placements}
    names |= {student: candidates[0].name for student, candidates in unusable.items()}
    save_teams(course, chapter, {team: sorted(students) for team, students in found.teams.items()})
    prefixes = {student: candidate.name.prefix for student, candidate in requests.items()}
    prefixes |= {student: name.prefix for student, name in names.items()}
    save_prefixes(course, chapter, layout.platform, {student: prefix for student, prefix in prefixes.items() if prefix})
    late = tuple(student for student, name in names.items() if name.late)
    rules = load_rules(course, chapter)
    return Collected(
        layout.description,
        finder.description,
        found.root,
        found.n_files,
        {student: placement.effect for student, placement in placements.items()},
        sources,
        latest.superseded,
        [(entry.name, reason) for entry, reason in skipped],
        tuple(
            student
            for student, new in placements.items()
            if new.effect == "replaced" and not new.handed_in and recorded.get(student, (None,))[0]
        ),
        late,
        tuple(s for s in late if sources.get(s) == LATE_LABEL and rules.due(s, due) != due),
        tuple(sorted(unusable)),
        tuple(sorted(latest.undecided)),
        tuple(requests),
        _strangers(names, known),
        {student.id: student.name for student in known},
    )


def _strangers(students: Collection[str], known: Iterable[KnownStudent]) -> tuple[str, ...]:
    """The students who are not in the roster or have withdrawn.

    If the roster has none of the students, the result is empty: there is no roster, or the platform hides who they are.
    """
    listed = {student.id for student in known if student.identifiers and not student.withdrawn}
    strangers = tuple(student for student in students if student not in listed)
    return strangers if len(strangers) < len(students) else ()


def _without_notebook(found: Found, latest: Latest) -> dict[str, list[Candidate]]:
    """Student -> files, for the students without a file that can count."""
    decided = {*latest.chosen, *latest.undecided}
    students = [student for student in {**found.unusable, **latest.unfit} if student not in decided]
    return {s: [*found.unusable.get(s, ()), *latest.unfit.get(s, ())] for s in students}


def _requests(found: Found, latest: Latest) -> dict[str, Candidate]:
    """Student -> the latest file with regrade requests; the others are superseded."""
    requests = {}
    for student, candidates in found.requests.items():
        requests[student] = max(candidates, key=lambda one: one.when)
        others = [one.entry.name for one in candidates if one is not requests[student]]
        latest.superseded += [(name, f"this student handed in another {FILE} later") for name in others]
    return requests


def _not_read(candidates: Iterable[Candidate], reasons: Mapping[Entry, str]) -> NotRead | None:
    """The first of a student's files that could be a notebook and was skipped, with the reason, if there is one."""
    for one in candidates:
        if one.entry.too_large:
            return NotRead(one.own_name, one.entry.n_bytes)
        if reasons[one.entry] != NO_NOTEBOOK:
            return NotRead(one.own_place, one.entry.n_bytes, reasons[one.entry])
    return None


def _content(candidate: Candidate) -> bytes:
    """The bytes of a file; empty if it cannot be read or is large, because its name is enough for the student."""
    try:
        return candidate.entry.read() if candidate.entry.n_bytes <= MAX_UNUSABLE_BYTES else b""
    except Unreadable:
        return b""
