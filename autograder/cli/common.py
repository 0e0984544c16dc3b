"""What the subcommands of `autograder` share.

A subcommand is a file with `HELP`, `add_arguments(parser)` and `run(options)`, which returns the exit code. It imports
what it needs inside `run`, because importing nbgrader alone takes seconds. It raises a UserError for anything that the
user did wrong or has to do first.
"""

import argparse
from pathlib import Path

from autograder.layout import known_chapter

CHAPTER_HELP = "for example 01_attention"


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
