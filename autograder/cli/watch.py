"""`autograder watch`"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from autograder.cli.common import is_released, positive

WORDS = "Grade what arrives as soon as it is there, and hand the feedback back at once, until you end it."


def arguments(parser):
    parser.add_argument("chapter", metavar="CHAPTER", help="01_attention, say")
    parser.add_argument(
        "--from",
        dest="source",
        choices=("exchange", "submitted"),
        help="nbgrader's exchange, or the course's folder submitted (default: the exchange, if the course has one)",
    )
    parser.add_argument(
        "--attempts",
        type=positive,
        metavar="N",
        help="grade no more than N different files of a student, and keep the others (default: any number)",
    )
    parser.add_argument(
        "--wait",
        type=positive,
        metavar="MINUTES",
        help="from one graded attempt of a student to the next; the latest that came meanwhile is graded then",
    )


def run(options):
    """0: ended as it was asked to, by Ctrl-C or a signal; what was being graded was ended first."""
    from datetime import datetime

    from autograder.watching.attempts import Rules
    from autograder.watching.watch import only_one, open_desk, watching
    from check.words import shown

    chapter = is_released(options.course, options.chapter)
    with only_one(options.course, chapter), _asked_to_end() as end:
        desk, inbox = open_desk(options.course, chapter, options.source, Rules(options.attempts, _seconds(options)))
        print(f"Watching {inbox.folder} for {chapter}. Ctrl-C ends it, when what is being graded is done.", flush=True)
        for whose, what in watching(desk, inbox, end):
            print(f"{datetime.now():%H:%M:%S} {shown(whose)}: {shown(what, 500)}", flush=True)
    print("Ended. The same command takes up what arrives meanwhile.")
    return 0


def _seconds(options):
    return 60 * (options.wait or 0)


@contextmanager
def _asked_to_end() -> Iterator[Event]:
    """An event that Ctrl-C, or a service that is stopped, sets; a second Ctrl-C ends everything at once."""
    end = Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number, frame):
        end.set()
        signal.signal(number, before[number])

    for number in before:
        signal.signal(number, ask)
    try:
        yield end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
