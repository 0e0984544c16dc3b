"""`autograder due`"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from typing import TYPE_CHECKING

from autograder.cli.common import CHAPTER_HELP, MAX_NAMES
from autograder.errors import UserError
from autograder.layout import known_chapter

if TYPE_CHECKING:
    from autograder.scores.late import Step

HELP = "Show or set when a chapter is due, and what late work still earns."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    parser.add_argument(
        "--at",
        metavar="WHEN",
        help="the new due date, such as 2026-12-04 (its last minute) or '2026-12-04 18:00', in this machine's time "
        "zone; 'never' removes it",
    )
    parser.add_argument(
        "--late",
        nargs=2,
        action="append",
        default=[],
        metavar=("PERCENT", "UNTIL"),
        help="with --at: work that is late, but handed in until then, earns this share of its score; may be repeated, "
        "and later work earns nothing. Without --late, nbgrader's penalty_method decides",
    )


def run(options: Namespace) -> int:
    from autograder.collecting.late_labels import times_of_labels
    from autograder.course.lock import course_lock, require_course
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.deadlines import set_due
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import due_date
    from autograder.scores.late import load_rules, parse_steps, parse_when, sentences, shown_time
    from check.words import listed, shown

    chapter = known_chapter(options.chapter)
    if options.late and not options.at:
        raise UserError("--late needs --at WHEN: the steps begin at the due date")
    require_course(options.course)
    coursedir = open_coursedir(options.course, chapter)
    of_earlier_date: list[str] = []
    dropped: tuple[Step, ...] = ()
    due = None if options.at in (None, "never") else parse_when(options.at)
    steps = parse_steps(options.late, due)
    with course_lock(options.course) if options.at else nullcontext(), usable_gradebook(coursedir) as gradebook:
        if options.at:
            if due and due != due_date(gradebook, chapter):
                of_earlier_date = sorted(times_of_labels(options.course, chapter))
            dropped = () if steps else load_rules(options.course, chapter).steps
            set_due(gradebook, options.course, chapter, due, steps)
        due, rules = due_date(gradebook, chapter), load_rules(options.course, chapter)
    if due:
        print(f"Students of {chapter} read: {' '.join(sentences(due, rules))}")
    else:
        print(f"{chapter} has no due date{', so the extensions have no effect' if rules.extensions else ''}.")
    for student, extension in sorted(rules.extensions.items()):
        print(f"  {shown(student)} has until {shown_time(extension.until)}. {shown(extension.why)}".rstrip())
    if dropped:
        shares = ", ".join(f"{step.share:.0%}" for step in dropped)
        print(f"The earlier steps of late work no longer count: {shares}. To keep them, give them with --late.")
    if of_earlier_date:
        print(
            "These times of handing in come from Canvas's LATE labels and the earlier due date, so collect Canvas's "
            f"download again: {listed(map(shown, of_earlier_date), MAX_NAMES)}"
        )
    if options.at:
        print(
            f"`autograder grade {chapter}` brings penalties up to date; `autograder release {chapter}` shows the date."
        )
    return 0
