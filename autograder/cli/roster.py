"""`autograder roster`"""

from pathlib import Path

WORDS = "Bring the students of Canvas's or Moodle's own export into the gradebook."


def arguments(parser):
    parser.add_argument(
        "table", type=Path, metavar="FILE", help="Canvas's gradebook, or Moodle's participants or grades, as CSV"
    )


def run(options):
    """0: all are in the gradebook. 1: some cannot be, and are listed."""
    from autograder.collecting.roster import import_roster
    from check.words import count, shown

    roster, changes = import_roster(options.table, options.course)
    print(f"Read as {roster.words}.")
    print(", ".join(f"{len(students)} {what}" for what, students in changes.items()))
    for row, why in roster.left:
        print(f"left: {shown(row)}: {shown(why, 300)}")
    print(f"{count(len(roster.students) + len(roster.left), 'row')} in = {len(roster.students)} students + "
          f"{len(roster.left)} left")  # fmt: skip
    return 1 if any("test student" not in why for _, why in roster.left) else 0
