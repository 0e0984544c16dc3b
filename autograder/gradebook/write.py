"""Grade the submissions of a class in batches, and write the scores and the feedback of each batch in one transaction.

Of our commands only `grade` writes them. Points given by hand and voided scores have modules of their own.
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, chdir
from itertools import chain
from pathlib import Path

from sqlalchemy.exc import OperationalError, SAWarning

from autograder.gradebook.batch_writer import ToWrite, Writer
from autograder.gradebook.best_attempt import attempt_chooser
from autograder.gradebook.coursedir import no_tracebacks, open_coursedir
from autograder.gradebook.engine import index_rows, open_gradebook, watched_engines, why_unusable
from autograder.gradebook.score_log import logged_changes
from autograder.gradebook.state import HANDED_IN_AGAIN, ClassState
from autograder.grading.queue import GradingQueue
from autograder.progress_bar import batches_with_progress
from autograder.sandbox import MachineTooBusy, SandboxUnavailable
from autograder.scores.attempts import restore_attempt
from autograder.scores.rows import Incomplete, StudentRow
from autograder.scores.voids import load_voids
from check.words import listed, shown

TOGETHER = 10  # the most submissions to write in one transaction


def write_class(
    grader: GradingQueue, course: Path, chapter: str, paths: Mapping[str, Path], *, dry_run: bool = False
) -> Iterator[StudentRow]:
    """Write scores and feedback of each submission as soon as it is graded, and then yield its row.

    Submissions for which the machine was too busy are graded again after all others. The caller may stop early, which
    loses nothing.

    Args:
        paths: student id -> submitted file, which the grader expects.
        dry_run: write only reports; the rows say what would be written.

    Raises:
        Incomplete: something failed that no student caused; it holds the rows of the other submissions.
        SandboxUnavailable: no sandbox is left to grade in.
    """
    rows: list[StudentRow] = []
    failed: dict[str, str] = {}
    voids = load_voids(course, chapter)
    coursedir = open_coursedir(course, chapter)
    with (
        no_tracebacks(),
        warnings.catch_warnings(),
        chdir(course),
        watched_engines() as unusable,
        ExitStack() as stack,
    ):
        warnings.simplefilter("ignore", SAWarning)  # nbgrader's own queries cause these warnings, and still work
        try:
            gradebook = stack.enter_context(open_gradebook(coursedir))
            if not dry_run:
                index_rows(gradebook)
            recorded = ClassState(gradebook, coursedir, grader.reports)
            whys = {} if dry_run else stack.enter_context(logged_changes(gradebook, coursedir, "graded"))
        except OperationalError as error:
            raise Incomplete(rows, [why_unusable(error)]) from error
        writer = Writer(gradebook, coursedir, grader.assignment, unusable)
        choose = attempt_chooser(coursedir, grader, recorded, keep=not dry_run)
        again: list[Path] = []  # the machine was too busy for them, and may be less so after the others

        def ready(student: str, path: Path) -> tuple[StudentRow, ToWrite]:
            graded = grader.graded(path)
            choice = choose(student, path, graded)
            report, folder = choice.graded.report, choice.path.parent
            why = "--force" if grader.force else recorded.why(student, report, folder)
            if why == HANDED_IN_AGAIN and report is not graded.report:
                why = "another attempt counts"
            whys[student] = why
            if not dry_run:
                restore_attempt(choice.path, path)
            attempts = (folder, graded.report, choice.sentence)
            row = StudentRow(student, report, why, graded.reused, bool(why) and not dry_run, voids, *attempts)
            return row, ToWrite(student, path, choice.graded, recorded.notices(student), bool(why))

        student_of = {path: student for student, path in paths.items()}
        batches = batches_with_progress(grader.batches(student_of, TOGETHER), len(paths), "grading", "submissions")
        for batch in chain(batches, zip(again)):
            graded: list[tuple[StudentRow, ToWrite]] = []
            for path in batch:
                student = student_of[path]
                try:
                    graded.append(ready(student, path))
                except SandboxUnavailable:
                    if not dry_run:
                        writer.write([to_write for _, to_write in graded])
                    raise
                except Exception as error:
                    if isinstance(error, MachineTooBusy) and path not in again:
                        again.append(path)
                    else:
                        failed[student] = writer.reason(error)
            unwritten = {} if dry_run else writer.write([to_write for _, to_write in graded])
            written = [row for row, _ in graded if row.student not in unwritten]
            rows += written
            yield from written
            if unusable:  # no other submission can be written either
                break
            failed |= unwritten
    rows.sort(key=lambda row: row.student)
    of_reason: dict[str, list[str]] = {}
    for student, why in failed.items():
        of_reason.setdefault(why, []).append(student)
    reasons = [f"{listed(map(shown, students))}: {why}" for why, students in of_reason.items()]
    reasons += [why_unusable(error) for error in unusable[:1]]
    if reasons:
        raise Incomplete(rows, reasons)
