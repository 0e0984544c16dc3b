"""`autograder collect`"""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.cli.common import CHAPTER_HELP, MAX_NAMES, released_chapter

if TYPE_CHECKING:
    from autograder.collecting.collect import Collected

HELP = "Copy the submissions of a Canvas or Moodle download, a zip file or a folder, into course/submitted."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    parser.add_argument("download", type=Path, metavar="PATH", help="the platform's zip file, or a folder of files")
    parser.add_argument(
        "--table",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="Moodle's grading worksheet, which identifies each participant and gives the submission times; the "
        "submissions of Canvas's API as CSV (user_id, submitted_at), for the times; or Canvas's table of a group set, "
        "if groups hand in together. For Canvas's times and groups, give it twice",
    )
    parser.add_argument(
        "--by-name",
        action="store_true",
        help="identify students by Moodle's display names; only safe if students cannot change their names",
    )
    parser.add_argument(
        "--all", action="store_true", help=f"name all students and skipped files, not only {MAX_NAMES} in each line"
    )


def run(options: Namespace) -> int:
    """Return 0 if every notebook was placed or superseded by a later one; otherwise list the others and return 1."""
    from autograder.collecting.collect import collect
    from autograder.course.lock import course_lock
    from autograder.platforms.sheets import read_sheet

    chapter = released_chapter(options.course, options.chapter)
    sheets = [read_sheet(table) for table in options.table]
    with course_lock(options.course):
        collected = collect(options.download, options.course, chapter, sheets, by_name=options.by_name)
    _print(collected, options.course / "submitted" / "STUDENT" / chapter / f"{chapter}.ipynb", options.all)
    return 0 if collected.complete else 1


def _print(collected: Collected, submitted: Path, in_full: bool) -> None:
    from autograder.scores.hand_in_times import TIMESTAMP, UNKNOWN
    from check.words import count, listed, shown

    def named(students: Iterable[str]) -> str:
        names = [shown(f"{student} {collected.names.get(student, '')}".strip()) for student in students]
        if in_full or len(names) <= MAX_NAMES:
            return ", ".join(names)
        return f"{listed(names, MAX_NAMES)}; --all names them"

    print(f"Read as {collected.layout}; {collected.ids}.")
    for what in ("new", "replaced", "unchanged"):
        students = [student for student, effect in collected.placed.items() if effect == what]
        print(f"{what}: {len(students)}" + (f" ({named(students)})" if students else ""))
    for source in dict.fromkeys(collected.sources.values()):
        students = [student for student, its_source in collected.sources.items() if its_source == source]
        some = source == UNKNOWN and len(students) < len(collected.sources)
        names = f" ({named(students)})" if some else ""
        print(f"time of handing in: {source}: {count(len(students), 'submission')}{names}")
    if collected.earlier_time:
        print(
            f"without a time, so the time of the replaced file counts: {named(collected.earlier_time)}: give the times "
            "with --table FILE"
        )
    if collected.late:
        print(f"marked as late by the platform: {named(collected.late)}")
    if collected.uncertain:
        print(
            f"marked as late, and an extension: {named(collected.uncertain)}: their time is a second "
            "after the class's due date, so they count as in time: give the exact times with --table FILE, or write "
            f"them into {submitted.with_name(TIMESTAMP)}"
        )
    if collected.strangers:
        print(
            f"not in the roster, or withdrawn: {named(collected.strangers)}: exports to the platform's "
            "table leave them out; `autograder roster` imports a newer table"
        )
    for what, files in (("superseded", collected.superseded), ("skipped", collected.skipped)):
        for line in _folded(files, collected.root, in_full):
            print(f"{what}: {line}")
    if collected.unusable:
        print(
            f"no notebook: {named(collected.unusable)}: `autograder grade` gives them 0 points and a page that says "
            "what to hand in"
        )
    if collected.undecided:
        print(
            f"several notebooks, and none was taken: {named(collected.undecided)}: copy the right one to {submitted}, "
            "and collect again, for its time"
        )
    if collected.requests:
        print(f"regrade requests: {named(collected.requests)}: `autograder requests` lists them")
    parts = len(collected.placed), len(collected.skipped), len(collected.superseded)
    print("{} = {} placed + {} skipped + {} superseded".format(count(collected.n_files, "file"), *parts), end="")
    print(f" + {len(collected.requests)} with regrade requests" if collected.requests else "")


def _folded(files: Iterable[tuple[str, str]], root: str, in_full: bool) -> Iterator[str]:
    """Yield "file: reason" for each of the files or, unless in full, for the files with the same reason together."""
    from autograder.collecting.zip_or_folder import HIDDEN, NO_NOTEBOOK
    from check.words import listed, shown

    of_reason: dict[str, list[str]] = {}
    for file, reason in files:
        of_reason.setdefault(reason, []).append(file)
    upload = re.compile(rf"(?:.*?\.zip|{re.escape(root)}[^/]+)(?=/)", re.I | re.S)
    for reason, names in of_reason.items():
        if in_full or len(names) == 1:
            yield from (f"{shown(name)}: {shown(reason, 300)}" for name in names)
            continue
        # A file that could be a notebook has its own name, and any other one that of its upload.
        folds = reason in (NO_NOTEBOOK, HIDDEN)
        places = dict.fromkeys(match[0] if folds and (match := upload.match(name)) else name for name in names)
        more = "; --all names them" if len(places) > MAX_NAMES else ""
        yield f"{len(names)} files: {listed(map(shown, places), MAX_NAMES)}{more}: {shown(reason, 300)}"
