"""`autograder roster`"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = "Add the students of Canvas's or Moodle's own export to the gradebook."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "table", type=Path, metavar="FILE", help="Canvas's gradebook, or Moodle's participants or grades, as CSV"
    )
    parser.add_argument(
        "--ids",
        default="",
        metavar="COLUMN",
        help="take the ids of new students from this column, such as 'ID number' (default: the column of the earlier "
        "rosters, or the first one that identifies most people); known students keep their ids",
    )
    parser.add_argument(
        "--remove",
        action="store_true",
        help="mark the students who are not in the table as withdrawn: exports, reports and feedback files leave "
        "them out, and their scores are kept",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would change, but write nothing")


def run(options: Namespace) -> int:
    """Return 0 if all people in the table are in the gradebook; otherwise list those skipped and return 1."""
    from autograder.collecting.roster import import_roster
    from autograder.platforms.rosters import CANVAS_TEST_STUDENT
    from check.words import count, shown

    imported = import_roster(
        options.table, options.course, ids=options.ids, remove=options.remove, dry_run=options.dry_run
    )
    students, skipped = imported.assigned.students, imported.assigned.skipped
    print(f"Read as {imported.description}; ids are the column {imported.ids!r}.")
    print(", ".join(f"{len(ids)} {what}" for what, ids in imported.changes.items()))
    for student in imported.returned:
        print(f"enrolled again: {shown(student)}")
    for known in imported.not_listed:
        print(
            f"{'withdrawn' if options.remove else 'not in this table'}: {shown(known.id)} {shown(known.name)}".strip()
        )
    if imported.not_listed and not options.remove:
        print("Those who are not in this table stay enrolled; with --remove they count as withdrawn.")
    for row, reason in skipped:
        print(f"skipped: {shown(row)}: {shown(reason, 300)}")
    print(f"{count(len(students) + len(skipped), 'row')} = {len(students)} students + {len(skipped)} skipped")
    if options.dry_run:
        print("Nothing was written.")
    return 1 if any(reason != CANVAS_TEST_STUDENT for _, reason in skipped) else 0
