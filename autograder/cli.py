"""The `autograder` command: release chapters, grade a class, show what the answer keys catch."""

import argparse
import sys
from pathlib import Path

from autograder.sandbox import SandboxUnavailable

WRONG = 2


def main(arguments: list[str] | None = None) -> int:
    """Run one command; what went wrong is said in one line, with exit code 2."""
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        return _say("interrupted; what is graded is kept, and the same command goes on from there")
    except (LookupError, FileNotFoundError, SandboxUnavailable) as error:
        return _say(str(error.args[0] if isinstance(error, LookupError) else error))


def _parser():
    parser = argparse.ArgumentParser(prog="autograder", description="Release and grade the chapters of the course.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    release = _command(commands, "release", _release, "Make what students get, and refuse if it gives a solution away.")
    release.add_argument("chapters", nargs="*", metavar="CHAPTER", help="01_attention, say; all if none is named")

    grade = _command(commands, "grade", _grade, "Grade the submissions of a chapter and write scores and feedback.")
    grade.add_argument("chapter", metavar="CHAPTER", help="01_attention, say")
    grade.add_argument("--student", action="append", default=[], metavar="ID", help="only this one; may be repeated")
    grade.add_argument("--jobs", type=_positive, metavar="N", help="submissions at a time (default: one a processor)")
    grade.add_argument("--force", action="store_true", help="grade again what has been graded already")
    grade.add_argument(
        "--sandbox",
        choices=("bwrap", "none"),
        default="bwrap",
        help="none runs student code with your own rights on your files: never for real submissions",
    )

    mistakes = _command(commands, "mistakes", _mistakes, "Show which case of the answer keys catches which mistake.")
    mistakes.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all chapters if none is named")
    return parser


def _command(commands, name, run, words):
    command = commands.add_parser(name, help=words, description=words)
    command.set_defaults(run=run)
    command.add_argument("--course", type=Path, default=Path("course"), metavar="DIR", help="default: course")
    return command


# The commands import what they need when they run: nbgrader alone takes seconds.


def _release(options):
    from autograder.release import ReleaseError, release

    try:
        for released in release(options.course.resolve(), options.chapters):
            print(f"{released.chapter}: {'released' if released.changed else 'unchanged'}, {released.zip}")
    except ReleaseError as error:
        return _say(str(error))
    return 0


def _grade(options):
    from autograder import class_run

    course = options.course.resolve()
    if not (course / "release" / options.chapter).is_dir():
        _refuse_unknown([options.chapter])
        return _say(f"{options.chapter} is not released in {course}: run `autograder release {options.chapter}` first")
    try:
        rows = class_run.grade(
            course,
            options.chapter,
            students=options.student,
            jobs=options.jobs,
            force=options.force,
            sandbox=options.sandbox,
        )
    except class_run.Incomplete as incomplete:
        _show(incomplete.rows, course, options.chapter)
        return _say(f"some submissions are not graded, through no fault of theirs:\n{incomplete}")
    _show(rows, course, options.chapter)
    return 0


def _show(rows, course, chapter):
    from autograder import table

    if rows:
        print(table.of_class(rows))
    reused, written = sum(row.reused for row in rows), sum(row.written for row in rows)
    print(f"\n{len(rows) - reused} graded, {reused} reports reused, {written} written to the gradebook.")
    print(f"Feedback: {course / 'feedback'}/STUDENT/{chapter}/{chapter}.html")


def _mistakes(options):
    from autograder import chapters, table
    from autograder import course as courses
    from autograder.keys import PUBLIC_SEED

    _refuse_unknown(options.chapters)
    seeds = {"public": PUBLIC_SEED}
    if (options.course / "secret_seed").exists():
        seeds["secret"] = courses.secret_seed(options.course)
    for chapter in options.chapters or chapters.names():
        print(f"{chapter}\n{table.of_mistakes(chapter.partition('_')[2], seeds)}\n")
    return 0


def _refuse_unknown(names):
    from autograder import chapters

    there = chapters.names()
    for name in names:
        if name not in there:
            raise LookupError(f"there is no chapter {name!r}; there are: {', '.join(there)}")


def _positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _say(message):
    print(f"autograder: {message}", file=sys.stderr)
    return WRONG


if __name__ == "__main__":
    sys.exit(main())
