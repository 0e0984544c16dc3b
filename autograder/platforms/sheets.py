"""Read tables that spreadsheets and learning platforms write, separated by commas, semicolons or tabs."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from autograder.errors import UserError
from check.words import shown

MAX_BYTES = 50_000_000
# Moodle's English, "Tuesday, 3 February 2026, 10:00 AM" (lang/en/langconfig.php, strftimedaydatetime), and with 24 h;
# its English of the United States, "Tuesday, February 3, 2026, 10:00 AM" (lang/en_us/langconfig.php).
_TIME_FORMATS = (
    *("%A, %d %B %Y, %I:%M %p", "%A, %d %B %Y, %H:%M", "%d %B %Y, %I:%M %p", "%d/%m/%Y, %H:%M"),
    "%A, %B %d, %Y, %I:%M %p",
)
# Students choose their names. ESC and BEL would reach a terminal, and direction marks reverse the text after them, also
# on a page. Tabs and line ends stay.
_COMMANDS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # how .xlsx, .ods and .xls begin

csv.field_size_limit(MAX_BYTES)  # Moodle's worksheet holds whole texts that students wrote


class UnusableTable(UserError):
    """The table cannot be used; the message says why."""


class Sheet:
    """A table with a row of headers. Headers are matched without regard to case and surrounding spaces."""

    def __init__(self, name: str, rows: Sequence[Sequence[str]]) -> None:
        self.name = shown(name)
        self.headers, self.rows = list(rows[0]), [list(row) for row in rows[1:]]
        self._columns = {header.strip().casefold(): at for at, header in reversed(list(enumerate(self.headers)))}

    def has(self, *headers: str) -> bool:
        """Whether the table has all of these columns."""
        return all(header.casefold() in self._columns for header in headers)

    def column(self, header: str) -> int:
        """Return the position of the column with this header. Raises UnusableTable."""
        if not self.has(header):
            columns = ", ".join(map(shown, self.headers[:12]))
            raise UnusableTable(f"{self.name} has no column {header!r}; its columns are: {columns}")
        return self._columns[header.casefold()]

    def cell(self, row: Sequence[str], header: str) -> str:
        """Return a cell without surrounding spaces; empty if the column is missing or the row is too short."""
        return self.cell_at(row, self._columns.get(header.casefold(), len(row))).strip()

    @staticmethod
    def cell_at(row: Sequence[str], column: int) -> str:
        """Return a cell as it is; empty if the row is too short."""
        return row[column] if column < len(row) else ""


def read_sheet(path: Path) -> Sheet:
    """Read the table in a CSV file, without control and direction characters. Raises UnusableTable."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UnusableTable(f"{shown(path)} is too large for the table of a class")
        content = path.read_bytes()
        if content.startswith(_WORKBOOKS):
            raise UnusableTable(f"{shown(path)} is a workbook: open it in a spreadsheet and save it as “CSV UTF-8”")
        text = _COMMANDS.sub("", content.decode("utf-8-sig"))
    except OSError as error:
        raise UnusableTable(f"{shown(path)} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnusableTable(f"{shown(path)} is not text in UTF-8: save it as “CSV UTF-8”") from error
    if text.startswith("sep="):  # Excel writes such a line for itself
        text = text.partition("\n")[2]
    first_line = text.partition("\n")[0]
    try:
        # Only \n and \r end a line; Unicode's other line ends may be part of a name.
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first_line.count)))
    except csv.Error as error:
        raise UnusableTable(f"{shown(path)} is not a CSV table: {error}") from error
    if not rows or not any(rows[0]):
        raise UnusableTable(f"{shown(path)} is empty")
    return Sheet(path.name, rows)


def parse_time(text: str) -> datetime | None:
    """Return a time that a platform wrote, in UTC and without a zone, as nbgrader keeps times; None if it is not one.

    Canvas writes ISO 8601 with a zone. Moodle writes no zone, so its times are read in this machine's zone.
    """
    parsers: list[Callable[[str], datetime]] = [datetime.fromisoformat]
    parsers += [partial(_strptime, time_format=time_format) for time_format in _TIME_FORMATS]
    for parse in parsers:
        try:
            return parse(text.strip()).astimezone(UTC).replace(tzinfo=None)
        except (ValueError, OverflowError):
            continue
    return None


def own_zone() -> str:
    """Return the name of this machine's time zone, such as "CET (UTC+0100)"."""
    return datetime.now().astimezone().strftime("%Z (UTC%z)")


def _strptime(text: str, time_format: str) -> datetime:
    return datetime.strptime(text, time_format)
