"""`autograder watch`"""

import signal
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

from autograder.cli.common import CHAPTER_HELP, positive, released_chapter
from autograder.hub.cli.packages import hub_packages

HELP = "Grade each submission as soon as it arrives and return its feedback, until you stop the command."


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("chapter", metavar="CHAPTER", help=CHAPTER_HELP)
    parser.add_argument(
        "--from",
        dest="source",
        choices=("exchange", "submitted"),
        help="nbgrader's exchange, or the course's folder submitted (default: the exchange, if the course has one)",
    )
    parser.add_argument(
        "--attempts",
        type=_limit,
        default=5,
        metavar="N",
        help="grade at most N different files of a student, and keep further ones ungraded; `any` for no limit "
        "(default: 5)",
    )
    parser.add_argument(
        "--wait",
        type=positive,
        metavar="MINUTES",
        help="the time between two graded attempts of a student; of the files that arrive meanwhile, only the latest "
        "is graded",
    )


def _limit(text: str) -> int | None:
    return None if text == "any" else positive(text)


@hub_packages()
def run(options: Namespace) -> int:
    """Return 0 when Ctrl-C or a signal stopped the command, after the current grading has ended."""
    from datetime import datetime

    from autograder.hub.watching.attempt_log import AttemptRules
    from autograder.hub.watching.watch import only_one, open_desk, watching
    from check.words import shown

    chapter = released_chapter(options.course, options.chapter)
    rules = AttemptRules(options.attempts, 60 * (options.wait or 0))
    with only_one(options.course, chapter), _stop_on_signal() as stop:
        desk, inbox = open_desk(options.course, chapter, options.source, rules)
        print(f"Watching {inbox.folder} for {chapter}. Ctrl-C stops it when the current grading has ended.", flush=True)
        for student, event in watching(desk, inbox, stop):
            print(f"{datetime.now():%H:%M:%S} {shown(student)}: {shown(event, 500)}", flush=True)
    print("Stopped. To grade what arrives from now on, run the same command again.")
    return 0


@contextmanager
def _stop_on_signal() -> Iterator[Event]:
    """Yield an event that SIGINT or SIGTERM sets. A second signal has its usual effect."""
    stop = Event()
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def set_event(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, usual[signal.Signals(number)])

    for number in usual:
        signal.signal(number, set_event)
    try:
        yield stop
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
