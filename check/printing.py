"""What a function prints while it is checked stands below the name of the case that it was asked."""

import io
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO


@contextmanager
def printing_under(name: str, stream: TextIO) -> Iterator[None]:
    """Let what is printed go to a stream, below a line that names the case; nothing if nothing is printed."""
    with redirect_stdout(_Headed(f"Printed in the case {name!r}:\n", stream)):  # type: ignore[type-var]
        yield


class _Headed(io.TextIOBase):
    """Passes on what is written, as it is written: a loop that does not end has told by then where it is."""

    def __init__(self, head: str, stream: TextIO) -> None:
        self.head, self.stream = head, stream

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.stream.write(self.head + text if text else text)
        self.head = "" if text else self.head
        return len(text)

    def flush(self) -> None:
        self.stream.flush()
