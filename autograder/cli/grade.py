"""`autograder grade`"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.cli.common import CHAPTER_HELP, positive, released_chapter
from autograder.errors import UserError

if TYPE_CHECKING:
    from autograder.gradebook.forecast import Forecast
    from autograder.gradebook.marks import Marks
    from autograder.gradebook.rows import StudentRow
    from autograder.platforms.known_students import KnownStudent

HELP = "Grade what was handed in, and write scores and feedback."


def add_arguments(parser: ArgumentParser) -> None:
    every = "default: every chapter that was handed in"
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=f"{CHAPTER_HELP} ({every})")
    parser.add_argument("--student", action="append", default=[], metavar="ID", help="only this one; may be repeated")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs", type=positive, metavar="N", help="submissions to grade at once (default: one per processor)"
    )
    where.add_argument("--scheduler", metavar="tls://...", help="grade on the workers of this Dask scheduler instead")
    parser.add_argument("--tls", type=Path, metavar="FOLDER", help="the scheduler's certificates")
    parser.add_argument(
        "--trust-everyone-on-the-network",
        action="store_true",
        help="accept a scheduler without certificates; anyone who can reach it can read cases and submissions, invent "
        "scores and run code on its workers",
    )
    parser.add_argument("--force", action="store_true", help="grade again what has already been graded")
    parser.add_argument("--blind", action="store_true", help="show ids without names")
    parser.add_argument("--dry-run", action="store_true", help="show whose score would change, but write no score")
    parser.add_argument(
        "--sandbox",
        choices=("bwrap", "none"),
        default="bwrap",
        help="with none, student code runs with your own rights on your files: never use it for real submissions",
    )


def run(options: Namespace) -> int:
    from autograder.course.handout import NotReleased
    from autograder.gradebook import class_run

    if options.tls and not options.scheduler:
        raise UserError("--tls needs --scheduler tls://HOST:PORT: without a scheduler, this machine grades alone")
    chapters = {released_chapter(options.course, chapter): options.student for chapter in options.chapters}
    chapters = chapters or class_run.chapters_handed_in(options.course, options.student)
    graded: dict[str, Sequence[StudentRow]] = {}
    failures: list[Exception] = []
    for chapter, students in chapters.items():
        try:
            graded[chapter] = _graded(chapter, students, options)
        except class_run.Incomplete as incomplete:
            graded[chapter] = incomplete.rows
            failures.append(incomplete)
        except (NotReleased, class_run.NoSubmissions) as error:
            if len(chapters) == 1:
                raise
            failures.append(error)
            continue
        if len(chapters) == 1 or any(row.why for row in graded[chapter]):
            _print(graded[chapter], options, chapter)
        else:
            print(f"{chapter}: nothing new")
    if len(chapters) > 1 and any(graded.values()):
        from autograder.pages import terminal

        print(f"\n{terminal.chapter_table({chapter: rows for chapter, rows in graded.items() if rows})}")
    if failures:
        reasons = "\n".join(map(str, failures))
        raise UserError(f"some submissions could not be graded, for reasons unrelated to their content:\n{reasons}")
    return 0


def _graded(chapter: str, students: Sequence[str], options: Namespace) -> list[StudentRow]:
    """Grade a chapter. Raises Incomplete, and what `grade_class` raises."""
    from autograder.gradebook import class_run

    return class_run.grade_class(
        options.course,
        chapter,
        students=students,
        jobs=options.jobs,
        scheduler=options.scheduler,
        tls=options.tls and options.tls.resolve(),
        trusting=options.trust_everyone_on_the_network,
        force=options.force,
        dry_run=options.dry_run,
        sandbox=options.sandbox,
    )


def _print(rows: Sequence[StudentRow], options: Namespace, chapter: str) -> None:
    from autograder.pages import terminal

    if options.dry_run:
        from autograder.gradebook.voids import load_voids

        voids = load_voids(options.course, chapter)
        print(terminal.score_changes(_forecasts(options.course, chapter, rows), voids))
        return
    if rows:
        marks, known = _marks(options.course, chapter)
        names = {} if options.blind else {student.id: student.name for student in known if student.name}
        absent = [] if options.student else sorted(_enrolled(known) - {row.student for row in rows})
        print(terminal.class_table(rows, marks, names, absent))
    print(f"\n{terminal.summary(rows)}")
    for line in _unknown_keys(options.course):
        print(f"Comment without a text: {line}")
    print(f"Feedback: {options.course / 'feedback'}/STUDENT/{chapter}/{chapter}.html")


def _forecasts(course: Path, chapter: str, rows: Sequence[StudentRow]) -> list[Forecast]:
    """Return what would change. Raises Busy."""
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.forecast import forecasts

    with usable_gradebook():
        return forecasts(open_coursedir(course, chapter), rows)


def _marks(course: Path, chapter: str) -> tuple[Mapping[str, Marks], Sequence[KnownStudent]]:
    """Return each student's marks in the gradebook, and the students.

    Both are empty if the gradebook is busy, which grading has then reported.
    """
    from autograder.course.lock import Busy
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import known_students, read_marks

    coursedir = open_coursedir(course, chapter)
    try:
        with usable_gradebook():
            return read_marks(coursedir).marks.get(chapter, {}), known_students(coursedir)
    except Busy:
        return {}, ()


def _unknown_keys(course: Path) -> list[str]:
    """Return the lines of `unknown_keys`; none if the gradebook is busy, which grading has then reported."""
    from autograder.course.lock import Busy
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import unknown_keys

    try:
        with usable_gradebook():
            return unknown_keys(open_coursedir(course, ""))
    except Busy:
        return []


def _enrolled(known: Sequence[KnownStudent]) -> set[str]:
    return {student.id for student in known if not student.withdrawn}
