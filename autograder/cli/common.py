"""What the subcommands of `autograder` share.

A command is a file with `WORDS` (its help), `arguments(parser)` and `run(options) -> exit code`. It imports what it
needs when it runs: nbgrader alone takes seconds. What the user did wrong is raised as LookupError, FileNotFoundError,
SandboxUnavailable, Busy or Refused, with one line for a message.
"""

import argparse
from pathlib import Path


class Refused(Exception):
    """The command cannot do what was asked; the message says why, in the user's words."""


def positive(text: str) -> int:
    """A whole number from 1 on, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def known(chapter: str) -> str:
    """The chapter. Raises LookupError, naming those that there are."""
    from autograder.house import chapter_names

    there = chapter_names()
    if chapter not in there:
        raise LookupError(f"there is no chapter {chapter!r}; there are: {', '.join(there)}")
    return chapter


def is_released(course: Path, chapter: str) -> str:
    """The chapter, if the course has a release of it. Raises LookupError."""
    if not (course / "release" / chapter).is_dir():
        known(chapter)
        raise LookupError(f"{chapter} is not released in {course}: run `autograder release {chapter}` first")
    return chapter
