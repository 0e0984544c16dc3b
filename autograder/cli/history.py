"""`autograder history`"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from autograder.cli.common import CHAPTER_HELP
from autograder.layout import known_chapter

if TYPE_CHECKING:
    from autograder.gradebook.score_log import ScoreChange

HELP = "Show which scores changed: by how much, why, by whom and when."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapter", nargs="?", metavar="CHAPTER", help=f"{CHAPTER_HELP} (default: all chapters)")
    parser.add_argument("--student", metavar="ID", help="only this one")


def run(options: Namespace) -> int:
    from tabulate import tabulate

    from autograder.course.lock import course_lock, is_read_only, require_course
    from autograder.course.roster_file import load_roster
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import known_students
    from autograder.gradebook.score_log import FILE, logged_changes, read_changes
    from autograder.platforms.known_students import known_id
    from check.words import count

    chapter = known_chapter(options.chapter) if options.chapter else ""
    require_course(options.course)
    coursedir = open_coursedir(options.course, chapter)
    read_only = is_read_only(options.course)
    if not read_only:
        with (
            course_lock(options.course),
            usable_gradebook(coursedir) as gradebook,
            logged_changes(gradebook, coursedir, ""),
        ):
            pass  # this logs what another program has changed
    changes = [
        change
        for change in read_changes(options.course)
        if chapter in ("", change.chapter) and options.student in (None, change.student)
    ]
    if options.student and not changes:
        with usable_gradebook(coursedir) as gradebook:
            known_id(known_students(gradebook, load_roster(options.course)), options.student)
    if changes:
        heads = ["when", "who", "student", "chapter", "score", "what changed", "why"]
        print(tabulate(map(_line, changes), headers=heads, disable_numparse=True))
    print(f"{count(len(changes), 'change')}. {options.course / FILE} keeps all of them.")
    if read_only:
        print(f"{options.course} is read-only, so what another program changed after the last command is missing.")
    return 0


def _line(change: ScoreChange) -> list[str]:
    from check.words import shown

    parts = [f"{name} {_score(before)} → {_score(after)}" for name, (before, after) in change.parts.items()]
    return [
        f"{change.when.astimezone():%Y-%m-%d %H:%M:%S}",
        shown(change.who),
        shown(change.student),
        change.chapter,
        f"{_score(change.before)} → {_score(change.after)}",
        # A first grading sets every part, so the score alone says enough.
        "all" if change.before is None or change.after is None else ", ".join(parts),
        change.why,
    ]


def _score(score: float | None) -> str:
    return "none" if score is None else f"{score:g}"
