"""Find the student who handed in each file of a download."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from autograder.collecting.candidates import Candidate, Skipped
from autograder.collecting.zip_or_folder import HIDDEN, NO_NOTEBOOK, Entry, unpacked
from autograder.course.regrade_requests import is_request_file
from autograder.course.student_ids import reason_to_reject_id
from autograder.platforms import file_names
from autograder.platforms.known_students import KnownStudent
from autograder.platforms.sheets import Sheet
from autograder.platforms.student_finder import StudentFinder, choose_finder, only_students_of


@dataclass
class Found:
    """The files of a download, by student.

    layout, finder: how the files are named and how students are found. root: the folder in the download that holds all
    of them, with a slash, or "". n_files: how many, also those inside zip files.
    candidates: files that could be a student's notebook. skipped: (file, reason). unusable: student -> files of another
    kind. requests: student -> files with regrade requests. teams: name -> students who handed in together.
    """

    n_files: int
    root: str
    layout: file_names.Layout
    finder: StudentFinder
    candidates: list[Candidate]
    skipped: list[Skipped]
    unusable: dict[str, list[Candidate]]
    requests: dict[str, list[Candidate]] = field(default_factory=dict)
    teams: dict[str, set[str]] = field(default_factory=dict)

    def add(self, outer: Entry, student: str, name: file_names.ParsedName) -> None:
        """Add a file of a student, or the files in it if it is a zip file."""
        inner = unpacked(outer)
        self.n_files += len(inner) - 1
        for entry in inner:
            # The files in Moodle's zip file have the time of the download.
            when = {"canvas": name.order, "moodle": ()}.get(self.layout.platform, (entry.written,))
            candidate = Candidate(entry, student, name, outer.name, when)
            if not entry.problem:
                self.candidates.append(candidate)
                continue
            if entry.problem == NO_NOTEBOOK and is_request_file(candidate.own_name):
                self.requests.setdefault(student, []).append(candidate)
                continue
            self.skipped.append((entry, entry.problem))
            if entry.problem != HIDDEN:
                self.unusable.setdefault(student, []).append(candidate)


def find_students(
    entries: Sequence[Entry], roster: Sequence[KnownStudent], sheets: Sequence[Sheet], by_name: bool
) -> Found:
    """Return the files of a download by the student who handed them in."""
    named = [entry for entry in entries if _tells_student(entry)]
    skipped = [(entry, entry.problem) for entry in entries if not _tells_student(entry)]
    root = file_names.root_of([entry.name for entry in named])
    layout = file_names.layout_of([entry.name.removeprefix(root) for entry in named])
    parsed = [layout.parse(entry.name.removeprefix(root)) for entry in named]
    names = [only_students_of(roster, name) if name.readings else name for name in parsed]
    finder = choose_finder(layout, names, roster, sheets, by_name)
    found = Found(len(entries), root, layout, finder, [], skipped, {})
    for outer, name in zip(named, names, strict=True):
        members = finder.members(name)
        found.n_files += len(members) - 1  # a team's file counts for each of them
        if times := [finder.times[member.key] for member in members if member.key in finder.times]:
            finder.times.update(dict.fromkeys((member.key for member in members), max(times)))
        for member in members:
            student, reason = finder.find(member)
            if reason := reason or reason_to_reject_id(student):
                skipped.append((outer, outer.problem or reason))
                continue
            if len(members) > 1:
                found.teams.setdefault(name.name or name.key, set()).add(student)
            found.add(outer, student, member)
    return found


def _tells_student(entry: Entry) -> bool:
    """Whether the name of a file may say who handed it in, even if the file itself is not read."""
    return entry.problem in ("", NO_NOTEBOOK) or entry.too_large
