"""`autograder export`"""

from pathlib import Path

from autograder.cli.common import known

WORDS = "Write the grades as a table: CSV, or what Canvas or Moodle import."


def arguments(parser):
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="all that are released, if none is named")
    parser.add_argument("--to", choices=("csv", "canvas", "moodle"), default="csv", help="default: csv")
    parser.add_argument("--output", type=Path, default=Path("grades.csv"), metavar="FILE", help="default: grades.csv")


def run(options):
    from nbgrader.api import Gradebook

    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable
    from autograder.platforms import export

    made = {"csv": export.CsvExporter, "canvas": export.CanvasExporter, "moodle": export.MoodleExporter}
    named = [known(chapter) for chapter in options.chapters]
    directory = open_coursedir(options.course, "")
    if not options.course.is_dir():
        raise LookupError(f"there is no course in {options.course}")
    with usable(), Gradebook(directory.db_url, directory.course_id) as gradebook:
        made[options.to](to=str(options.output), assignment=named).export(gradebook)
    print(options.output)
    return 0
