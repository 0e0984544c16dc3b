"""Tables as spreadsheets and learning platforms write them, read with a comma or a semicolon between the cells."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from autograder.errors import UserError
from check.words import shown

MAX_BYTES = 50_000_000
# Moodle's English, "Tuesday, 3 February 2026, 10:00 AM" (lang/en/langconfig.php, strftimedaydatetime), and with 24 h.
_TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%d %B %Y, %I:%M %p", "%d/%m/%Y, %H:%M")


csv.field_size_limit(MAX_BYTES)  # Moodle's worksheet holds whole texts that students wrote


class UnusableTable(UserError):
    """A table that cannot be used; the message says why."""


class Sheet:
    """A table with a row of heads. Looking a head up, case and spaces at its ends do not count."""

    def __init__(self, name: str, rows: Sequence[Sequence[str]]):
        self.name = shown(name)
        self.heads, self.rows = list(rows[0]), [list(row) for row in rows[1:]]
        self._at = {head.strip().casefold(): at for at, head in reversed(list(enumerate(self.heads)))}

    def has(self, *heads: str) -> bool:
        return all(head.casefold() in self._at for head in heads)

    def at(self, head: str) -> int:
        """The column with this head. Raises UnusableTable."""
        if not self.has(head):
            there = ", ".join(map(shown, self.heads[:12]))
            raise UnusableTable(f"{self.name} has no column {head!r}; it has: {there}")
        return self._at[head.casefold()]

    def cell(self, row: Sequence[str], head: str) -> str:
        """A cell without spaces at its ends; empty if there is no such column, or the row is too short."""
        at = self._at.get(head.casefold(), len(row))
        return row[at].strip() if at < len(row) else ""


def read_sheet(path: Path) -> Sheet:
    """The table in a CSV file. Raises UnusableTable."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UnusableTable(f"{shown(path)} is too large for a table of a class")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UnusableTable(f"{shown(path)} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnusableTable(f"{shown(path)} is no text in UTF-8: save it as CSV, UTF-8") from error
    first = text.partition("\n")[0]
    try:
        # Only \n and \r end a line: what Unicode calls one may stand in a name.
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count)))
    except csv.Error as error:
        raise UnusableTable(f"{shown(path)} is no CSV table: {error}") from error
    if not rows or not any(rows[0]):
        raise UnusableTable(f"{shown(path)} is empty")
    return Sheet(path.name, rows)


def time_in(text: str) -> datetime | None:
    """A time as a platform writes it, in UTC and without its zone, as nbgrader keeps times; None if it is none.

    ISO 8601 with a zone is Canvas's. Moodle's has no zone: it is taken for this machine's.
    """
    for read in (datetime.fromisoformat, *(lambda t, form=form: datetime.strptime(t, form) for form in _TIMES)):
        try:
            return read(text.strip()).astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            continue
    return None
