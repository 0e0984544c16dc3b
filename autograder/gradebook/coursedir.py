"""nbgrader's view of a course folder: its configuration, and a quiet log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.house import HOUSE


def nbgrader_config(course: Path, house: Path = HOUSE) -> Config:
    """The house's nbgrader_config.py, and after it the course's own if there is one, for that course folder."""
    merged = Config()
    for folder in (house, course):
        if (folder / "nbgrader_config.py").exists():
            merged.merge(PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config())
    merged.CourseDirectory.root = str(course.absolute())
    return merged


def open_coursedir(course: Path, chapter: str, house: Path = HOUSE) -> CourseDirectory:
    """nbgrader's view of a course folder, for one assignment."""
    return CourseDirectory(config=nbgrader_config(course, house), assignment_id=chapter)


def keep_the_rules(course: Path, house: Path = HOUSE) -> None:
    """Give a course folder a nbgrader_config.py, if it has none, that reads the house's.

    Without one, nbgrader's commands started inside the folder would fall back on nbgrader's own rules, and run
    student code without a sandbox.
    """
    path = course / "nbgrader_config.py"
    if not path.exists():
        path.write_text(_RULES.format(house=str(house.absolute())), encoding="utf-8")


_RULES = """\
# nbgrader's commands, started in this folder, follow the rules of the house. Add your own below.
from pathlib import Path

c = get_config()
load_subconfig("nbgrader_config.py", path={house!r})
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
"""


@contextmanager
def quiet_log() -> Iterator[tuple[logging.Logger, list[str]]]:
    """A log for nbgrader that prints nothing, and the list that its errors are collected in."""
    errors: list[str] = []
    log = logging.getLogger("autograder.nbgrader")
    log.propagate, log.handlers = False, [_Collect(errors)]
    # What goes wrong with the gradebook is logged here, traceback and all, and raised as well.
    gradebooks = logging.getLogger("tornado.application")
    level = gradebooks.level
    gradebooks.setLevel(logging.CRITICAL)
    try:
        yield log, errors
    finally:
        gradebooks.setLevel(level)


class _Collect(logging.Handler):
    def __init__(self, messages):
        super().__init__(logging.ERROR)
        self.messages = messages

    def emit(self, record):
        self.messages.append(record.getMessage())
