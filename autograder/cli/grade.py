"""`autograder grade`"""

from pathlib import Path

from autograder.cli.common import is_released, positive
from autograder.errors import UserError

WORDS = "Grade the submissions of a chapter and write scores and feedback."


def arguments(parser):
    parser.add_argument("chapter", metavar="CHAPTER", help="01_attention, say")
    parser.add_argument("--student", action="append", default=[], metavar="ID", help="only this one; may be repeated")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=positive, metavar="N", help="submissions at a time (default: one a processor)")
    where.add_argument("--scheduler", metavar="tls://...", help="grade on the workers of this Dask scheduler instead")
    parser.add_argument("--tls", type=Path, metavar="FOLDER", help="the scheduler's certificates")
    parser.add_argument(
        "--trust-everyone-on-the-network",
        action="store_true",
        help="let the scheduler be without certificates: whoever reaches it reads cases and submissions, invents "
        "scores and runs code on its workers",
    )
    parser.add_argument("--force", action="store_true", help="grade again what has been graded already")
    parser.add_argument("--dry-run", action="store_true", help="show whose score would change, and write none")
    parser.add_argument(
        "--sandbox",
        choices=("bwrap", "none"),
        default="bwrap",
        help="none runs student code with your own rights on your files: never for real submissions",
    )


def run(options):
    from autograder.gradebook import class_run

    if options.tls and not options.scheduler:
        raise UserError("--tls goes with --scheduler tls://HOST:PORT: without it, this machine grades alone")
    chapter = is_released(options.course, options.chapter)
    try:
        rows = class_run.grade_class(
            options.course,
            chapter,
            students=options.student,
            jobs=options.jobs,
            scheduler=options.scheduler,
            tls=options.tls and options.tls.resolve(),
            trusting=options.trust_everyone_on_the_network,
            force=options.force,
            dry_run=options.dry_run,
            sandbox=options.sandbox,
        )
    except class_run.Incomplete as incomplete:
        _show(incomplete.rows, options, chapter)
        raise UserError(f"some submissions are not graded, through no fault of theirs:\n{incomplete}") from incomplete
    _show(rows, options, chapter)
    return 0


def _show(rows, options, chapter):
    from autograder.pages import terminal

    if options.dry_run:
        print(terminal.of_changes(rows))
        return
    if rows:
        print(terminal.of_class(rows, _marks(options.course, chapter)))
    print(f"\n{terminal.summary(rows)}")
    print(f"Feedback: {options.course / 'feedback'}/STUDENT/{chapter}/{chapter}.html")


def _marks(course, chapter):
    """What the gradebook says; nothing if it cannot be used, which the run has said then."""
    from autograder.course.lock import Busy
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import read_marks

    try:
        with usable_gradebook():
            return read_marks(open_coursedir(course, chapter)).marks.get(chapter, {})
    except Busy:
        return {}
