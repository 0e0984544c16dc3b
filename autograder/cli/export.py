"""`autograder export`"""

from pathlib import Path

from autograder.cli.common import known

WORDS = "Write the grades as a table: CSV, or what Canvas or Moodle import."


def arguments(parser):
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all that are released, if none is named")
    parser.add_argument("--to", choices=("csv", "canvas", "moodle"), default="csv", help="default: csv")
    parser.add_argument("--output", type=Path, default=Path("grades.csv"), metavar="FILE", help="default: grades.csv")


def run(options):
    from autograder.gradebook.exporters import export_grades

    export_grades(options.course, options.to, [known(chapter) for chapter in options.chapters], options.output)
    print(options.output)
    return 0
