"""Watch a chapter, and grade submissions as soon as they arrive, in the same way as an ordinary grading run.

The file system reports changes. On a network drive, for example, it may not, so the desk also looks every few seconds.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

from filelock import FileLock, Timeout
from watchfiles import watch

from autograder.course.lock import Busy
from autograder.errors import UserError
from autograder.gradebook.class_run import rows_as_graded
from autograder.gradebook.coursedir import open_coursedir, student_file
from autograder.grading.client import connected
from autograder.grading.queue import open_queue
from autograder.hub.watching.attempt_log import AttemptLog, AttemptRules
from autograder.hub.watching.desk import Desk, Line
from autograder.hub.watching.exchange_inbox import ExchangeInbox
from autograder.hub.watching.inboxes import Inbox, SubmittedFolder
from autograder.scores.which_attempt import which_counts


def open_desk(course: Path, chapter: str, source: str | None, rules: AttemptRules) -> tuple[Desk, Inbox]:
    """Return the desk for one chapter of a course, and its inbox, after a test of the sandbox.

    Args:
        source: "exchange" or "submitted"; None for the exchange if the course has one.

    Raises UserError if there is no such exchange, SandboxUnavailable.
    """
    exchange = ExchangeInbox(course, chapter)
    has_exchange = exchange.folder.is_dir()
    if source == "exchange" and not has_exchange:
        raise UserError(
            f"there is no {exchange.folder}: make it with `nbgrader release_assignment {chapter}`; c.Exchange.root and "
            "c.CourseDirectory.course_id in nbgrader_config.py say where it is"
        )
    inbox: Inbox = exchange if has_exchange and source != "submitted" else SubmittedFolder(course, chapter)
    with connected() as client:
        open_queue(course, chapter, client).try_workers()
    coursedir = open_coursedir(course, chapter)

    def page(student: str) -> Path:
        return student_file(coursedir, "feedback", student, "html")

    rules = replace(rules, counts=which_counts(coursedir.config))
    return Desk(inbox, AttemptLog(course, chapter), rules, partial(rows_as_graded, course, chapter), page), inbox


def watching(desk: Desk, inbox: Inbox, stop: Event) -> Iterator[Line]:
    """Yield a line about each event, until `stop` is set and the next submission is graded."""
    changes = _changes(inbox, stop)
    changed: object = ()
    while not stop.is_set():
        if changed or desk.is_due():
            for line in desk.look():
                yield line
                if stop.is_set():
                    return
        changed = next(changes, ())


def _changes(inbox: Inbox, stop: Event) -> Iterator[object]:
    """Yield the changes in the inbox, or an empty collection after a second without any."""
    with suppress(OSError):  # the system cannot watch more folders, or this one is not available
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
    """Keep other commands from watching this chapter. Raises Busy."""
    try:
        with FileLock(course / f".watching-{chapter}.lock", timeout=0):
            yield
    except Timeout as error:
        raise Busy(f"another `autograder watch` is watching {chapter} in {course}: stop it first") from error
