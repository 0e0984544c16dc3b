"""`autograder collect`"""

from pathlib import Path

from autograder.cli.common import Refused, is_released

WORDS = "Bring what Canvas or Moodle hand out, a zip file or a folder, into course/submitted."


def arguments(parser):
    parser.add_argument("chapter", metavar="CHAPTER", help="01_attention, say")
    parser.add_argument("download", type=Path, metavar="PATH", help="the platform's zip file, or a folder of files")


def run(options):
    """0: every notebook has its place. 1: some have none, and are listed."""
    from autograder.course.lock import alone
    from autograder.gradebook.collect import collect
    from autograder.platforms.download import Unusable

    chapter = is_released(options.course, options.chapter)
    try:
        with alone(options.course):
            collected = collect(options.download, options.course, chapter)
    except Unusable as error:
        raise Refused(str(error)) from error
    for what in ("new", "replaced", "unchanged"):
        students = [student for student, became in collected.placed.items() if became == what]
        print(f"{what}: {len(students)}{' (' if students else ''}{', '.join(students)}{')' if students else ''}")
    if collected.late:
        print(f"handed in late, says the platform: {', '.join(collected.late)}")
    for file, why in collected.left.items():
        print(f"left where it is: {file}: {why}")
    return 1 if any(why != "no notebook" for why in collected.left.values()) else 0
