"""`autograder grade`"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.cli.common import CHAPTER_HELP, add_jobs, add_sandbox, released_chapter
from autograder.errors import UserError

if TYPE_CHECKING:
    from autograder.platforms.known_students import KnownStudent
    from autograder.scores.marks import Marks
    from autograder.scores.rows import StudentRow

HELP = "Grade what was handed in, and write scores and feedback."


def add_arguments(parser: ArgumentParser) -> None:
    every = "default: every chapter that was handed in"
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help=f"{CHAPTER_HELP} ({every})")
    parser.add_argument("--student", action="append", default=[], metavar="ID", help="only this one; may be repeated")
    where = parser.add_mutually_exclusive_group()
    add_jobs(where, "submissions to grade")
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
    add_sandbox(parser, "student code runs with your own rights on your files: never use it for real submissions")


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
            graded[chapter] = class_run.grade_class(
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


def _print(rows: Sequence[StudentRow], options: Namespace, chapter: str) -> None:
    from autograder.pages import terminal
    from autograder.platforms.known_students import enrolled

    if options.dry_run:
        print(_forecast_table(options.course, chapter, rows))
        return
    marks, known, unknown = _recorded(options.course, chapter)
    if rows:
        names = {} if options.blind else {student.id: student.name for student in known if student.name}
        absent = [] if options.student else sorted(enrolled(known) - {row.student for row in rows})
        print(terminal.class_table(rows, marks, names, absent))
    print(f"\n{terminal.summary(rows)}")
    for line in unknown:
        print(f"Comment without a text: {line}")
    print(f"Feedback: {options.course / 'feedback'}/STUDENT/{chapter}/{chapter}.html")


def _forecast_table(course: Path, chapter: str, rows: Sequence[StudentRow]) -> str:
    """Return what would change. Raises Busy."""
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.forecast import forecasts
    from autograder.pages import terminal
    from autograder.scores.voids import load_voids

    coursedir = open_coursedir(course, chapter)
    with usable_gradebook(coursedir) as gradebook:
        return terminal.score_changes(forecasts(gradebook, coursedir, rows), load_voids(course, chapter))


def _recorded(course: Path, chapter: str) -> tuple[Mapping[str, Marks], Sequence[KnownStudent], Sequence[str]]:
    """Return each student's marks in the gradebook, the students, and the lines of `unknown_keys`.

    All are empty if the gradebook is busy, which grading has then reported.
    """
    from autograder.course.comments import load_comments
    from autograder.course.lock import Busy
    from autograder.course.roster_file import load_roster
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import known_students, read_book, unknown_keys

    try:
        with usable_gradebook(open_coursedir(course, chapter)) as gradebook:
            marks = read_book(gradebook, chapter).marks.get(chapter, {})
            known = known_students(gradebook, load_roster(course))
            return marks, known, unknown_keys(gradebook, load_comments(course))
    except Busy:
        return {}, (), ()
