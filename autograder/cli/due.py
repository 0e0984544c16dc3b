"""`autograder due`"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from autograder.cli.common import CHAPTER_HELP
from autograder.errors import UserError
from autograder.layout import known_chapter

if TYPE_CHECKING:
    from autograder.gradebook.deadlines import Step

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
    from autograder.collecting.late_marks import times_of_marks
    from autograder.course.lock import course_lock, require_course
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.deadlines import load_rules, parse_when, sentences, set_due, shown_time
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import due_date, due_date_in, open_gradebook
    from check.words import shown

    chapter = known_chapter(options.chapter)
    if options.late and not options.at:
        raise UserError("--late needs --at WHEN: the steps begin at the due date")
    require_course(options.course)
    coursedir = open_coursedir(options.course, chapter)
    of_earlier_date: list[str] = []
    dropped: tuple[Step, ...] = ()
    if options.at:
        due = None if options.at == "never" else parse_when(options.at)
        steps = _steps(options.late, due)
        with course_lock(options.course), usable_gradebook(), open_gradebook(coursedir) as gradebook:
            if due and due != due_date_in(gradebook, chapter):
                of_earlier_date = sorted(times_of_marks(options.course, chapter))
            dropped = () if steps else load_rules(options.course, chapter).steps
            set_due(gradebook, options.course, chapter, due, steps)
    with usable_gradebook():
        due, rules = due_date(coursedir), load_rules(options.course, chapter)
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
            "These times of handing in come from Canvas's LATE marks and the earlier due date, so collect Canvas's "
            f"download again: {', '.join(map(shown, of_earlier_date))}"
        )
    if options.at:
        print(
            f"`autograder grade {chapter}` brings penalties up to date; `autograder release {chapter}` shows the date."
        )
    return 0


def _steps(late: Iterable[tuple[str, str]], due: datetime | None) -> tuple[Step, ...]:
    """Return the steps that the options ask for, in the order of time. Raises UserError."""
    from autograder.gradebook.deadlines import Step, parse_when

    steps = []
    for percent, until in late:
        number = percent.removesuffix("%")
        if not number.isdecimal() or not 0 < int(number) < 100:
            raise UserError(f"{percent!r} is not a percentage between 1% and 99%")
        when = parse_when(until)
        if due is None or when <= due:
            raise UserError(f"late work can earn {percent} only until a time after the due date, not until {until}")
        steps.append(Step(int(number) / 100, (when - due).total_seconds()))
    steps.sort(key=lambda step: (step.seconds, -step.share))
    for step, later in pairwise(steps):
        if later.seconds == step.seconds or later.share >= step.share:
            raise UserError(
                "the share that late work earns must fall from one time to a later one, unlike "
                f"{step.share:.0%} and then {later.share:.0%}"
            )
    return tuple(steps)
