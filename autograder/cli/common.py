"""What the subcommands of `autograder` share.

A subcommand is a file with `HELP`, `add_arguments(parser)` and `run(options)`, which returns the exit code. It imports
what it needs inside `run`, because importing nbgrader alone takes seconds. It raises a UserError for anything that the
user did wrong or has to do first.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from autograder.grading.jobs import DEFAULT_JOBS
from autograder.layout import known_chapter

CHAPTER_HELP = "for example 01_attention"
MAX_NAMES = 10  # of students in one line


def add_jobs(parser: argparse._ActionsContainer, what: str) -> None:
    """Add the option --jobs. what: what the command works on."""
    parser.add_argument("--jobs", type=positive, metavar="N", help=f"{what} at once (default: {DEFAULT_JOBS})")


def add_sandbox(parser: argparse.ArgumentParser, warning: str) -> None:
    """Add the option --sandbox. warning: what happens without one."""
    parser.add_argument("--sandbox", choices=("bwrap", "none"), default="bwrap", help=f"with none, {warning}")


def positive(text: str) -> int:
    """Return a whole number of at least 1, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def released_chapter(course: Path, chapter: str) -> str:
    """Return the chapter if the course has a release of it. Raises NotReleased, or UserError for an unknown chapter."""
    from autograder.course.handout import NotReleased

    if not (course / "release" / chapter).is_dir():
        raise NotReleased(course, known_chapter(chapter))
    return chapter


def released_chapters(course: Path, chapters: Sequence[str]) -> list[str]:
    """Return these chapters, or all released ones if none is named. Raises NotReleased, UserError."""
    from autograder.course.handout import released_notebooks
    from autograder.course.lock import require_course

    require_course(course)
    named = [released_chapter(course, chapter) for chapter in chapters]
    return named or [path.stem for path in released_notebooks(course)]
