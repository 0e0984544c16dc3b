"""What a learning platform hands out: a zip file or a folder, read up to a limit and under no name from inside it."""

import shutil
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from autograder.check.words import size
from autograder.grading.submitted_file import MAX_BYTES

MAX_FILES = 100_000
MAX_TOTAL = 50 * MAX_BYTES


class Unusable(Exception):
    """A download that is not collected at all; the message says why."""


def notebooks_in(download: Path, temporary: Path, left: dict[str, str]) -> Iterator[tuple[str, Path, float]]:
    """Name in the download, place on disk, and time of each notebook of a zip file or a folder.

    Args:
        temporary: an empty folder, for what has to be unpacked.
        left: filled with file -> why it is left where it is.

    Raises Unusable.
    """
    if download.is_dir():
        for path in sorted(download.rglob("*")):
            name = path.relative_to(download).as_posix()
            if path.is_symlink():
                left[name] = "a symbolic link, which is not followed"
            elif path.is_file() and _is_notebook(name, left):
                yield name, path, path.stat().st_mtime
        return
    if not download.exists():
        raise Unusable(f"there is no file or folder {download}")
    try:
        with zipfile.ZipFile(download) as archive:
            yield from _unzipped(archive, temporary, left)
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
        raise Unusable(f"{download.name} is no folder, and no zip file that can be read: {error}") from error


def _unzipped(archive, temporary, left):
    entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    if len(entries) > MAX_FILES:
        raise Unusable(f"the archive holds {len(entries)} files; no more than {MAX_FILES} are read")
    if (total := sum(entry.file_size for entry in entries)) > MAX_TOTAL:
        raise Unusable(f"the archive would unpack to {size(total)}; no more than {size(MAX_TOTAL)} is read")
    for number, entry in enumerate(entries):
        if entry.flag_bits & 1:
            left[entry.filename] = "encrypted"
        elif entry.file_size > MAX_BYTES:
            left[entry.filename] = f"{size(entry.file_size)} large; no more than {size(MAX_BYTES)} is read"
        elif _is_notebook(entry.filename, left):
            path = temporary / str(number)
            with archive.open(entry) as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy)  # no more than file_size, which zipfile sees to
            yield entry.filename, path, time.mktime((*entry.date_time, 0, 0, -1))


def _is_notebook(name, left):
    if not name.endswith(".ipynb"):
        left[name] = "no notebook"
    return name.endswith(".ipynb")
