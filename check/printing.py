"""Print what a function prints while it is checked below the name of its case."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO


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
