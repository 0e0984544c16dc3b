"""`autograder export`"""

from pathlib import Path

from autograder.errors import UserError
from autograder.house import known_chapter

WORDS = "Write the grades as a table: CSV, or what Canvas or Moodle import."


def arguments(parser):
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all that are released, if none is named")
    parser.add_argument("--to", choices=("csv", "canvas", "moodle"), default="csv", help="default: csv")
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FILE",
        help="fill in the platform's own table: Canvas's exported gradebook, or Moodle's grading worksheet",
    )
    parser.add_argument("--as", dest="title", default="", metavar="TITLE", help="what Canvas calls the one CHAPTER")
    parser.add_argument("--output", type=Path, default=Path("grades.csv"), metavar="FILE", help="default: grades.csv")


def run(options):
    """0: written. 1: written, and some with a score have no row in the platform's table; they are listed."""
    from autograder.gradebook.exporters import export_grades

    chapters = [known_chapter(chapter) for chapter in options.chapters]
    if options.title and (not options.into or len(chapters) != 1):
        raise UserError("--as TITLE says what Canvas calls one chapter: name one, and give --into FILE")
    if options.into:
        return _fill_in(options, chapters)
    export_grades(options.course, options.to, chapters, options.output)
    print(options.output)
    return 0


def _fill_in(options, chapters):
    from autograder.gradebook.exporters import fill_in
    from autograder.platforms.sheets import read_sheet
    from check.words import shown

    if options.to == "csv" or (options.to == "moodle" and len(chapters) != 1):
        raise UserError(
            "--into FILE goes with --to canvas, or with --to moodle and one chapter: its worksheet has one grade"
        )
    sheet = read_sheet(options.into)
    filled = fill_in(options.course, options.to, chapters, sheet, options.title, options.output)
    for note in filled.notes:
        print(f"note: {shown(note, 300)}")
    for student in filled.missing:
        print(f"has a score, but no row in {shown(options.into.name)}: {shown(student)}")
    print(options.output)
    return 1 if filled.missing else 0
