"""Choose the notebook that counts from all the files that each student handed in."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.collecting.zip_or_folder import Entry, Unreadable
from autograder.course.handout import Handout
from autograder.grading import reading
from autograder.grading.submitted_file import MAX_BYTES, File
from autograder.platforms.file_names import ParsedName
from check.words import size

MAX_NOTEBOOKS = 20  # of one student in one download; with MAX_BYTES, this limits how much one student can make us read
MAX_TOTAL = 50 * MAX_BYTES

Skipped = tuple[Entry, str]  # a file that is not collected, and the reason


@dataclass(frozen=True)
class Candidate:
    """A file of a download, and the student who handed it in."""

    entry: Entry
    student: str
    name: ParsedName

    @property
    def order(self) -> tuple[tuple[int, ...], float, int, str]:
        """Of two candidates, the later one has the larger order."""
        return self.name.order, self.entry.written, -self.entry.name.count("/"), self.entry.name


@dataclass
class Latest:
    """The choice among the files of a download.

    chosen: student -> the candidate that counts, and the path of its bytes.
    superseded: (file, reason) for files of students who handed in another one later.
    skipped: files that cannot count.
    """

    chosen: dict[str, tuple[Candidate, Path]] = field(default_factory=dict)
    superseded: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def latest_notebooks(candidates: Iterable[Candidate], released: Handout, folder: Path) -> Latest:
    """Choose each student's latest notebook of the released chapter, and write its bytes into an empty folder."""
    latest = Latest()
    total = 0
    for number, (student, of_student) in enumerate(sorted(_by_student(candidates).items())):
        readable, too_many = _within_limits(of_student)
        best, content, unfit = _best(readable, released)
        latest.skipped += too_many + unfit
        if best and (total := total + len(content)) > MAX_TOTAL:
            latest.skipped.append((best.entry, f"the download holds more than the limit of {size(MAX_TOTAL)}"))
        elif best:
            path = folder / str(number)
            path.write_bytes(content)
            latest.chosen[student] = best, path
        # Compared by identity, because a zip file may hold two entries with the same name.
        done = {id(best and best.entry), *(id(entry) for entry, _ in unfit)}
        others = [candidate.entry.name for candidate in readable if id(candidate.entry) not in done]
        latest.superseded += [(name, f"{student} handed in another one later") for name in others]
    return latest


def _by_student(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    """Return student -> candidates, the latest first."""
    of_student: dict[str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda candidate: candidate.order, reverse=True):
        of_student.setdefault(candidate.student, []).append(candidate)
    return of_student


def _within_limits(of_student: Sequence[Candidate]) -> tuple[list[Candidate], list[Skipped]]:
    """Return one student's candidates that we read, the latest first, and those beyond the limits."""
    readable: list[Candidate] = []
    too_many: list[Skipped] = []
    n_bytes = 0
    for candidate in of_student:
        n_bytes += candidate.entry.n_bytes
        if len(readable) < MAX_NOTEBOOKS and n_bytes <= MAX_BYTES:
            readable.append(candidate)
        else:
            limits = f"{MAX_NOTEBOOKS} notebooks and {size(MAX_BYTES)}"
            too_many.append((candidate.entry, f"this student handed in more than the limit of {limits}"))
    return readable, too_many


def _best(of_student: Sequence[Candidate], released: Handout) -> tuple[Candidate | None, bytes, list[Skipped]]:
    """Return the first candidate that is of the chapter, or else the first that is of no chapter; None if neither is.

    Also return its bytes, and the candidates that cannot be read or are of another chapter.
    """
    fallback: tuple[Candidate | None, bytes] = None, b""
    unfit: list[Skipped] = []
    for candidate in of_student:
        try:
            content = candidate.entry.read()
        except Unreadable as error:
            unfit.append((candidate.entry, str(error)))
            continue
        ids = reading.grade_ids(File(content))
        if other := released.other_chapter_with(ids):
            unfit.append((candidate.entry, f"it is the notebook of {other}, not of {released.chapter}"))
        elif ids & released.unique_ids:
            return candidate, content, unfit
        elif fallback[0] is None:
            fallback = candidate, content
    return *fallback, unfit
