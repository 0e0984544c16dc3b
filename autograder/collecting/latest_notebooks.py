"""Choose the notebook that counts from all the files that each student handed in, within limits."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.collecting.candidates import Candidate, Skipped
from autograder.collecting.choosing import Read, choose, read
from autograder.collecting.scripts import ScriptTooLarge, notebook_of
from autograder.collecting.zip_or_folder import NO_NOTEBOOK, SCRIPTS, Unreadable
from autograder.course.handout import Handout
from autograder.grading import reading
from autograder.grading.submitted_file import MAX_BYTES, File
from check.words import size

MAX_NOTEBOOKS = 20  # per student and download; with MAX_BYTES, this limits how much one student can make us read
MAX_TOTAL = 50 * MAX_BYTES


@dataclass
class Latest:
    """The choice among the files of a download.

    chosen: student -> the candidate that counts, and the path of its bytes.
    superseded: (file, reason) for files of students whose other file counts.
    skipped: files that cannot count.
    undecided: students with several notebooks of which any could count, and none is in the course.
    unfit: student -> candidates, for students without a file that can count.
    """

    chosen: dict[str, tuple[Candidate, Path]] = field(default_factory=dict)
    superseded: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    undecided: set[str] = field(default_factory=set)
    unfit: dict[str, list[Candidate]] = field(default_factory=dict)


def latest_notebooks(
    candidates: Iterable[Candidate], released: Handout, folder: Path, in_course: Callable[[str], bytes | None]
) -> Latest:
    """Choose each student's notebook of the released chapter, and write its bytes into an empty folder.

    in_course: returns the bytes of the notebook that the course has for a student. If nothing else decides, it counts.
    """
    latest = Latest()
    total = 0
    for number, (student, of_student) in enumerate(sorted(_by_student(candidates).items())):
        readable, too_many = _within_limits(of_student)
        all_read, unfit = _read(readable, released)
        latest.skipped += too_many + unfit
        if not all_read:
            latest.unfit[student] = of_student
            continue
        best, others = choose(all_read, released.chapter)
        if best:
            latest.superseded += [(one.candidate.entry.name, reason) for one, reason in others]
        else:
            best = next((one for one, _ in others if one.content == in_course(student)), None)
            latest.skipped += [(one.candidate.entry, reason) for one, reason in others if one is not best]
        if best is None:
            latest.undecided.add(student)
            continue
        total += len(best.content)
        if total > MAX_TOTAL:
            reason = f"the download holds more than the limit of {size(MAX_TOTAL)}"
            latest.skipped.append((best.candidate.entry, reason))
        else:
            path = folder / str(number)
            path.write_bytes(best.content)
            latest.chosen[student] = best.candidate, path
    return latest


def _by_student(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    """Student -> candidates, the latest first; without a known order, the one highest up in the folders."""
    of_student: dict[str, list[Candidate]] = {}
    order = sorted(candidates, key=lambda one: (one.entry.name.count("/"), one.entry.name))
    for candidate in sorted(order, key=lambda one: one.when, reverse=True):
        of_student.setdefault(candidate.student, []).append(candidate)
    return of_student


def _within_limits(of_student: Sequence[Candidate]) -> tuple[list[Candidate], list[Skipped]]:
    """One student's candidates that we read, and those beyond the limits.

    Scripts come last: a folder of a chapter holds more of them than notebooks, and its own modules must not use up the
    limit.
    """
    readable: list[Candidate] = []
    too_many: list[Skipped] = []
    n_bytes = 0
    for candidate in sorted(of_student, key=_is_script):
        n_bytes += candidate.entry.n_bytes
        if len(readable) < MAX_NOTEBOOKS and n_bytes <= MAX_BYTES:
            readable.append(candidate)
        elif _is_script(candidate) and readable and not _is_script(readable[0]):
            too_many.append((candidate.entry, NO_NOTEBOOK))
        else:
            limits = f"{MAX_NOTEBOOKS} notebooks and {size(MAX_BYTES)}"
            too_many.append((candidate.entry, f"this student handed in more than the limit of {limits}"))
    return readable, too_many


def _is_script(candidate: Candidate) -> bool:
    return candidate.entry.name.lower().endswith(SCRIPTS)


def _read(of_student: Sequence[Candidate], released: Handout) -> tuple[list[Read], list[Skipped]]:
    """The candidates that can count, and those that cannot be read or are of another chapter."""
    all_read: list[Read] = []
    unfit: list[Skipped] = []
    for candidate in of_student:
        try:
            content = candidate.entry.read()
            notebook = notebook_of(content, released) if _is_script(candidate) else content
            if notebook is None:
                unfit.append((candidate.entry, NO_NOTEBOOK))
            elif other := released.other_chapter_with(reading.grade_ids(File(notebook))):
                unfit.append((candidate.entry, f"it is the notebook of {other}, not of {released.chapter}"))
            else:
                all_read.append(read(candidate, notebook, released))
        except (Unreadable, ScriptTooLarge) as error:
            unfit.append((candidate.entry, str(error)))
        except Exception as error:  # one student's file must not end the command for all others
            unfit.append((candidate.entry, f"it cannot be read: {error!r}"))
    return all_read, unfit
