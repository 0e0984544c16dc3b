"""When a submission was handed in, where that time comes from, and by how much it is late.

Every time is in UTC and has no zone, as in nbgrader's gradebook. The gradebook has the due dates, and `late` computes
what late work earns.
"""

from datetime import UTC, datetime, timedelta

import dateutil.parser
import dateutil.tz

TIMESTAMP = "timestamp.txt"  # nbgrader looks for it beside a submitted notebook

# The sources of a time, in words for the person who collects.
TABLE = "the platform's table"
FILE = "the file's own time"
LATE_LABEL = "Canvas's LATE (with it, one second late; without it, in time)"
EXACT = "as before (exact times, which Canvas's LATE does not replace)"
NO_DUE_DATE = "unknown (set the due date, and collect again: Canvas's LATE counts from there)"
UNCHANGED = "as before (the notebook is unchanged and came with a regrade request)"
UNKNOWN = "unknown (give the times with --table FILE)"


def time_handed_in(
    platform: str, marked_late: bool, written: float, in_table: datetime | None, due: datetime | None
) -> tuple[datetime | None, str]:
    """Return when a collected submission was handed in, None if that is unknown, and where the time comes from.

    The times inside Canvas's and Moodle's zip files are those of the download: both write entries as they send them
    (lib/content_zipper.rb; mod/assign/classes/downloader.php, whose zip_writer takes the current time).

    Args:
        platform: "canvas", "moodle" or "folders".
        marked_late: whether Canvas wrote LATE into the file's name.
        written: the file's own time, in seconds since 1970.
        in_table: the time in a table of the platform, if there is one.
        due: when the chapter is due, without extensions: an extension counts for a student who is a second late.
    """
    if in_table:
        return in_table, TABLE
    if platform == "folders":
        return datetime.fromtimestamp(int(written), UTC).replace(tzinfo=None), FILE
    if platform != "canvas":
        return None, UNKNOWN
    return (due + timedelta(seconds=marked_late), LATE_LABEL) if due else (None, NO_DUE_DATE)


def due_with_extension(due: datetime | None, extension: timedelta | None) -> datetime | None:
    """Return when a submission is due for a student with this extension; None if the chapter is never due."""
    return due and due + (extension or timedelta())


def seconds_late(handed_in: datetime | None, due: datetime | None) -> float:
    """Return by how many seconds a submission is late, 0 if it is in time or a time is unknown, as nbgrader counts."""
    return max(0, (handed_in - due).total_seconds()) if handed_in and due else 0


def timestamp_text(handed_in: datetime) -> str:
    """Return the content of nbgrader's timestamp.txt."""
    return f"{handed_in} UTC\n"


def read_timestamp(content: bytes) -> datetime | None:
    """Return the time in a timestamp.txt; None if it is empty. Raises ValueError if it holds anything else."""
    try:
        return _in_utc(content[:100].decode().strip()) if content else None
    except OverflowError as error:
        raise ValueError(str(error)) from error


def _in_utc(text: str) -> datetime:
    """Return the time in a text such as "2026-12-04 23:59:00 Europe/Berlin"; without a known zone it is in UTC.

    Raises ValueError or OverflowError.
    """
    clock, _, zone = text.rpartition(" ")
    is_named = clock.count(" ") == 1 and zone[:1].isalpha()
    when = dateutil.parser.parse(clock if is_named else text)
    if is_named:
        when = when.replace(tzinfo=dateutil.tz.gettz(zone))
    return when.astimezone(UTC).replace(tzinfo=None) if when.tzinfo else when
