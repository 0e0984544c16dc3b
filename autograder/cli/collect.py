"""`autograder collect`"""

from pathlib import Path

from autograder.cli.common import is_released

WORDS = "Bring what Canvas or Moodle hand out, a zip file or a folder, into course/submitted."


def arguments(parser):
    parser.add_argument("chapter", metavar="CHAPTER", help="01_attention, say")
    parser.add_argument("download", type=Path, metavar="PATH", help="the platform's zip file, or a folder of files")
    parser.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        help="Moodle's grading worksheet, which says who each participant is; or the submissions of Canvas's API as "
        "CSV (user_id, submitted_at). Either says when each was handed in",
    )
    parser.add_argument(
        "--by-name", action="store_true", help="believe Moodle's display names, if students cannot change theirs"
    )


def run(options):
    """0: every notebook has its place, or gave way to a later one. 1: some have none, and are listed."""
    from autograder.collecting.collect import collect
    from autograder.collecting.zip_or_folder import QUIET
    from autograder.course.lock import alone
    from autograder.platforms.sheets import read_sheet

    chapter = is_released(options.course, options.chapter)
    sheet = read_sheet(options.table) if options.table else None
    with alone(options.course):
        collected = collect(options.download, options.course, chapter, sheet, by_name=options.by_name)
    _show(collected)
    return 1 if any(why not in QUIET for _, why in collected.left) else 0


def _show(collected):
    from check.words import count, shown

    print(f"Read as {collected.layout}; {collected.ids}.")
    for what in ("new", "replaced", "unchanged"):
        students = [shown(student) for student, became in collected.placed.items() if became == what]
        print(f"{what}: {len(students)}{' (' if students else ''}{', '.join(students)}{')' if students else ''}")
    sources = list(collected.times.values())
    for source in dict.fromkeys(sources):
        print(f"when they were handed in: {source}: {count(sources.count(source), 'submission')}")
    if collected.late:
        print(f"handed in late, says the platform: {', '.join(map(shown, collected.late))}")
    for file, why in collected.gave_way:
        print(f"replaced: {shown(file)}: {shown(why)}")
    for file, why in collected.left:
        print(f"left: {shown(file)}: {shown(why, 300)}")
    parts = len(collected.placed), len(collected.left), len(collected.gave_way)
    print("{} in = {} placed + {} left + {} replaced".format(count(collected.n_files, "file"), *parts))
