"""When something was handed in, as far as a platform tells.

The times inside Canvas's and Moodle's zip files are those of the download: both write entries as they send them
(lib/content_zipper.rb; mod/assign/classes/downloader.php, whose zip_writer takes the current time).
"""

from datetime import UTC, datetime, timedelta

from autograder.platforms.file_names import Layout, Named

NOTHING = "nothing tells (--table FILE does)"
NO_DUE_DATE = "nothing tells (set the due date, and collect again: Canvas's LATE counts from there)"


def handed_in(
    layout: Layout, named: Named, written: float, told: datetime | None, due: datetime | None
) -> tuple[datetime | None, str]:
    """The time, in UTC, and where it is from.

    Args:
        written: the file's own time, in seconds since 1970.
        told: what a table of the platform's says. due: when the chapter is due, in UTC, extensions apart: they then
            count for whoever is a second late.
    """
    if told:
        return told, "the platform's table"
    if layout.platform == "folders":
        return datetime.fromtimestamp(int(written), UTC).replace(tzinfo=None), "the file's own time"
    if layout.platform == "canvas" and due:
        late = timedelta(seconds=1) if named.late else timedelta()
        return due + late, "Canvas's LATE (a second late where it stands, in time where not)"
    return None, NO_DUE_DATE if layout.platform == "canvas" else NOTHING
