"""`autograder roster`"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = "Add the students of Canvas's or Moodle's own export to the gradebook."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "table", type=Path, metavar="FILE", help="Canvas's gradebook, or Moodle's participants or grades, as CSV"
    )


def run(options: Namespace) -> int:
    """Return 0 if all students are in the gradebook, 1 if some were skipped, which it lists."""
    from autograder.collecting.roster import import_roster
    from autograder.platforms.rosters import CANVAS_TEST_STUDENT
    from check.words import count, shown

    roster, changes = import_roster(options.table, options.course)
    print(f"Read as {roster.description}.")
    print(", ".join(f"{len(students)} {what}" for what, students in changes.items()))
    for row, reason in roster.skipped:
        print(f"skipped: {shown(row)}: {shown(reason, 300)}")
    n_students, n_skipped = len(roster.students), len(roster.skipped)
    print(f"{count(n_students + n_skipped, 'row')} = {n_students} students + {n_skipped} skipped")
    return 1 if any(reason != CANVAS_TEST_STUDENT for _, reason in roster.skipped) else 0
