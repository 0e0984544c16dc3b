"""Open a course folder as nbgrader sees it: with its configuration, and with a log that prints nothing."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.coursedir import CourseDirectory

from autograder.course.configuration import nbgrader_config
from autograder.layout import REPO


def open_coursedir(course: Path, chapter: str, repo: Path = REPO) -> CourseDirectory:
    """Return nbgrader's view of a course folder, for one assignment."""
    return CourseDirectory(config=nbgrader_config(course, repo), assignment_id=chapter)


def student_file(coursedir: CourseDirectory, folder: str, student: str, ending: str = "ipynb") -> Path:
    """Return the path of a student's file of the chapter in a folder of the course, such as "submitted"."""
    chapter = coursedir.assignment_id
    return Path(coursedir.format_path(folder, student, chapter), f"{chapter}.{ending}")


@contextmanager
def quiet_log() -> Iterator[tuple[logging.Logger, list[str]]]:
    """Yield a log for nbgrader that prints nothing, and the list in which it collects errors."""
    errors: list[str] = []
    log = logging.getLogger("autograder.nbgrader")
    log.propagate, log.handlers = False, [_Collector(errors)]
    with no_tracebacks():
        yield log, errors


@contextmanager
def no_tracebacks() -> Iterator[None]:
    """Keep nbgrader from logging tracebacks of the gradebook's errors, which it also raises."""
    gradebooks = logging.getLogger("tornado.application")
    level = gradebooks.level
    gradebooks.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        gradebooks.setLevel(level)


class _Collector(logging.Handler):
    def __init__(self, messages: list[str]) -> None:
        super().__init__(logging.ERROR)
        self.messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
