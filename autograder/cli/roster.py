"""`autograder roster`"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = "Add the students of Canvas's or Moodle's own export to the gradebook."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "table", type=Path, metavar="FILE", help="Canvas's gradebook, or Moodle's participants or grades, as CSV"
    )


def run(options: Namespace) -> int:
    """Return 0 if all students are in the gradebook, and 1 if some had to be skipped."""
    from autograder.collecting.roster import import_roster
    from check.words import count, shown

    roster, changes = import_roster(options.table, options.course)
    print(f"Read as {roster.words}.")
    print(", ".join(f"{len(students)} {change}" for change, students in changes.items()))
    for row, reason in roster.left:
        print(f"skipped: {shown(row)}: {shown(reason, 300)}")
    n_students, n_skipped = len(roster.students), len(roster.left)
    print(f"{count(n_students + n_skipped, 'row')} = {count(n_students, 'student')} + {n_skipped} skipped")
    return 1 if any("test student" not in reason for _, reason in roster.left) else 0
