"""`autograder export`"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from autograder.cli.common import released_chapters
from autograder.errors import UserError

HELP = "Write the grades as a table: plain CSV, or what Canvas or Moodle import."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="default: all released chapters")
    parser.add_argument("--to", choices=("csv", "canvas", "moodle"), default="csv", help="default: csv")
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FILE",
        help="fill in the platform's own table: Canvas's exported gradebook, or Moodle's grading worksheet",
    )
    parser.add_argument("--as", dest="title", default="", metavar="TITLE", help="the one CHAPTER's title on Canvas")
    parser.add_argument(
        "--scale",
        action="store_true",
        help="with --into: multiply scores, so that the chapter's points become the maximum that the platform has",
    )
    parser.add_argument("--exercises", action="store_true", help="with --to csv: add a column for each exercise")
    parser.add_argument("--output", type=Path, default=Path("grades.csv"), metavar="FILE", help="default: grades.csv")


def run(options: Namespace) -> int:
    """Return 0 if the table is complete, and 1 if some students with a score have no row in the platform's table."""
    from autograder.gradebook.exporters import export_exercises, export_grades

    chapters = released_chapters(options.course, options.chapters)
    if options.title and (not options.into or len(options.chapters) != 1):
        raise UserError("--as TITLE gives one chapter's title on Canvas: name one chapter, and add --into FILE")
    if options.scale and not options.into:
        raise UserError("--scale needs --into FILE: only the platform's own table says what its maximum is")
    if options.exercises and (options.to != "csv" or options.into):
        raise UserError("--exercises needs --to csv: Canvas and Moodle have one score for each chapter")
    if not chapters:
        raise UserError(f"no chapter is released in {options.course}: run `autograder release CHAPTER` first")
    if options.into:
        return _fill_in(options, chapters)
    if options.exercises:
        export_exercises(options.course, chapters, options.output)
    else:
        export_grades(options.course, options.to, chapters, options.output)
    print(options.output)
    return 0


def _fill_in(options: Namespace, chapters: list[str]) -> int:
    from autograder.gradebook.exporters import fill_in
    from autograder.platforms.sheets import read_sheet
    from check.words import shown

    if options.to == "csv" or (options.to == "moodle" and len(options.chapters) != 1):
        raise UserError(
            "--into FILE needs --to canvas, or --to moodle and exactly one chapter: Moodle's worksheet has one grade"
        )
    sheet = read_sheet(options.into)
    filled = fill_in(options.course, options.to, chapters, sheet, options.title, options.output, scale=options.scale)
    for note in filled.notes:
        print(f"note: {shown(note, 300)}")
    for student in filled.missing:
        print(f"has a score, but no row in {shown(options.into.name)}: {shown(student)}")
    print(options.output)
    return 1 if filled.missing else 0
