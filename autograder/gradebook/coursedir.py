"""Open a course folder as nbgrader sees it: with its configuration, and with a log that prints nothing."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from autograder.layout import REPO


def nbgrader_config(course: Path, repo: Path = REPO) -> Config:
    """Return the repository's nbgrader_config.py merged with the course's own, which has priority."""
    merged = Config()
    for folder in (repo, course):
        if (folder / "nbgrader_config.py").exists():
            merged.merge(PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config())
    merged.CourseDirectory.root = str(course.absolute())
    return merged


def open_coursedir(course: Path, chapter: str, repo: Path = REPO) -> CourseDirectory:
    """Return nbgrader's view of a course folder, for one assignment."""
    return CourseDirectory(config=nbgrader_config(course, repo), assignment_id=chapter)


def write_course_config(course: Path, repo: Path = REPO) -> None:
    """Write a nbgrader_config.py that loads the repository's into a course folder that has none.

    Without it, nbgrader's commands that are started inside the folder would use nbgrader's own configuration, and run
    student code without a sandbox.
    """
    path = course / "nbgrader_config.py"
    if not path.exists():
        path.write_text(_COURSE_CONFIG.format(repo=str(repo.absolute())), encoding="utf-8")


_COURSE_CONFIG = """\
# nbgrader's commands that start in this folder use the configuration of the repository. Add your own settings below.
from pathlib import Path

c = get_config()
load_subconfig("nbgrader_config.py", path={repo!r})
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
"""


@contextmanager
def quiet_log() -> Iterator[tuple[logging.Logger, list[str]]]:
    """Yield a log for nbgrader that prints nothing, and the list in which it collects errors."""
    errors: list[str] = []
    log = logging.getLogger("autograder.nbgrader")
    log.propagate, log.handlers = False, [_Collector(errors)]
    # nbgrader logs here what goes wrong with the gradebook, with a traceback, and raises it as well.
    gradebooks = logging.getLogger("tornado.application")
    level = gradebooks.level
    gradebooks.setLevel(logging.CRITICAL)
    try:
        yield log, errors
    finally:
        gradebooks.setLevel(level)


class _Collector(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.ERROR)
        self.messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
