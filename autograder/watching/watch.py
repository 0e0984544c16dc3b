"""Grade what arrives as soon as it is there, by the way of an ordinary grading run.

The file system says that something came; where it does not, as on a network, a look every few seconds does.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from filelock import FileLock, Timeout
from watchfiles import watch

from autograder.course.lock import Busy
from autograder.errors import UserError
from autograder.gradebook.class_run import grade_class
from autograder.gradebook.coursedir import open_coursedir
from autograder.grading.cluster import connected
from autograder.grading.queue import open_queue
from autograder.watching.attempts import Memory, Rules
from autograder.watching.desk import Desk, Said
from autograder.watching.exchange_inbox import ExchangeInbox
from autograder.watching.inboxes import Inbox, SubmittedFolder


def open_desk(course: Path, chapter: str, source: str | None, rules: Rules) -> tuple[Desk, Inbox]:
    """The desk for one chapter of a course, its sandbox tried, and where it takes submissions from.

    Args:
        source: "exchange" or "submitted"; the exchange if the course has one, unless told.

    Raises UserError if there is no such exchange, SandboxUnavailable.
    """
    exchange = ExchangeInbox(course, chapter)
    there = exchange.folder.is_dir()
    if source == "exchange" and not there:
        raise UserError(
            f"there is no {exchange.folder}: nbgrader makes it with `nbgrader release_assignment {chapter}`, where "
            "c.Exchange.root and c.CourseDirectory.course_id in nbgrader_config.py say"
        )
    inbox = exchange if there and source != "submitted" else SubmittedFolder(course, chapter)
    with connected() as client:
        open_queue(course, chapter, client)
    coursedir = open_coursedir(course, chapter)

    def page(student):
        return Path(coursedir.format_path(coursedir.feedback_directory, student, chapter), f"{chapter}.html")

    def grade(students):
        return grade_class(course, chapter, students=students)

    return Desk(inbox, Memory(course, chapter), rules, grade, page), inbox


def watching(desk: Desk, inbox: Inbox, stop: Event) -> Iterator[Said]:
    """What happens, as it happens, until `stop` is set; what is being graded then ends first."""
    changes = _changes(inbox, stop)
    came: object = ()
    while not stop.is_set():
        if came or desk.is_due():
            for said in desk.look():
                yield said
                if stop.is_set():
                    return
        came = next(changes, ())


def _changes(inbox, stop) -> Iterator[object]:
    """What has changed, or nothing, a second later at most."""
    with suppress(OSError):  # no more folders can be watched, or this one is away
        yield from watch(
            inbox.folder,
            watch_filter=None,
            recursive=inbox.deep,
            stop_event=stop,
            rust_timeout=1000,
            yield_on_timeout=True,
            raise_interrupt=False,
        )
    while not stop.is_set():
        time.sleep(1)
        yield ()


@contextmanager
def only_one(course: Path, chapter: str) -> Iterator[None]:
    """Nobody else watches this chapter. Raises Busy."""
    try:
        with FileLock(course / f".watching-{chapter}.lock", timeout=0):
            yield
    except Timeout as error:
        raise Busy(f"another window watches {chapter} in {course}: let that end first") from error
