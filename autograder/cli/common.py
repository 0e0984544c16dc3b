"""What the subcommands of `autograder` share.

A command is a file with `WORDS` (its help), `arguments(parser)` and `run(options) -> exit code`. It imports what it
needs when it runs: nbgrader alone takes seconds. What the user did wrong is raised as a UserError.
"""

import argparse
from pathlib import Path

from autograder.course.handout import NotReleased
from autograder.house import known_chapter


def positive(text: str) -> int:
    """A whole number from 1 on, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def is_released(course: Path, chapter: str) -> str:
    """Return the chapter, if the course has a release of it. Raises NotReleased, or UserError for no chapter at all."""
    if not (course / "release" / chapter).is_dir():
        raise NotReleased(course, known_chapter(chapter))
    return chapter
