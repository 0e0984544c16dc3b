"""Show what happens while a check runs: what a function prints, and which case takes a long time."""

import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TextIO

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


@contextmanager
def printing_under(name: str, stream: TextIO) -> Iterator["Headed"]:
    """Send standard output to a stream, below a line that names the case; without output, the line is left out."""
    with redirect_stdout(Headed(f"Printed in the case {name!r}:\n", stream)) as headed:  # type: ignore[type-var]
        yield headed


class Headed(io.TextIOBase):
    """Passes text on at once, so that an endless loop still shows where it is."""

    def __init__(self, head: str, stream: TextIO) -> None:
        self.head, self.stream = head, stream

    @property
    def is_used(self) -> bool:
        """Whether anything was printed."""
        return not self.head

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.stream.write(self.head + text if text else text)
        self.head = "" if text else self.head
        return len(text)

    def flush(self) -> None:
        self.stream.flush()
