"""Tell students what is running if a check takes long, and how to interrupt it."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from check.showing import shell

SECONDS = 10.0


@contextmanager
def telling_what_runs(function: str) -> Iterator[Callable[[str], None]]:
    """Write one sentence to standard error if the block takes longer than SECONDS.

    Yields a function to call with the name of each case, before the case runs. Where no thread can start, as in a
    browser, nothing is written. The book's pages have a Stop button.

    function: the name of the function that is being checked.
    """
    cases: list[str] = []
    # Not standard output, which a check redirects.
    timer = threading.Timer(SECONDS, lambda: print(_what_runs(function, cases), file=sys.stderr, flush=True))
    timer.daemon = True
    with suppress(RuntimeError):
        timer.start()
    try:
        yield cases.append
    finally:
        timer.cancel()
        if timer.is_alive():
            timer.join()


def _what_runs(function: str, cases: list[str]) -> str:
    where = f", now in the case {cases[-1]!r}" if cases else ""
    how = "press the notebook's stop button ■ (Kernel, Interrupt)" if shell() else "press Ctrl-C"
    return f"`{function}` has been running for {SECONDS:g} seconds{where}. If it does not end, {how}."
