"""What a learning platform hands out: a zip file or a folder, listed first, and read a file at a time up to a limit.

Nothing is written under a name from inside it, and what one student handed in costs only that student.
"""

import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autograder.collecting.zip_entry_names import name_of, open_archive
from autograder.errors import UserError
from autograder.grading.submitted_file import MAX_BYTES, read_file
from check.words import shown, size

MAX_FILES = 100_000
NOTEBOOKS = (".ipynb", ".ipynb.txt")  # the second is what a browser makes of the first when it saves text
NO_NOTEBOOK = "no notebook"
HIDDEN = "a hidden file, which some program made"
QUIET = (NO_NOTEBOOK, HIDDEN)


class Unusable(UserError):
    """A download that is not collected at all; the message says why."""


class Unreadable(Exception):
    """One file of a download that cannot be read; the message says why."""


@dataclass(frozen=True)
class Entry:
    """A file of a download.

    name: its path inside. n_bytes: its size. written: its time, in seconds since 1970.
    trouble: why it is not read, found without opening it; empty if it may be. read: its bytes; raises Unreadable.
    """

    name: str
    n_bytes: int
    written: float
    trouble: str
    read: Callable[[], bytes]


@contextmanager
def opened(download: Path) -> Iterator[list[Entry]]:
    """The files of a zip file or a folder, as long as this lasts. Raises Unusable."""
    if download.is_dir():
        yield [_on_disk(path, download) for path in sorted(download.rglob("*")) if path.is_symlink() or path.is_file()]
        return
    if not download.exists():
        raise Unusable(f"there is no file or folder {shown(download)}")
    try:
        archive, no_text = open_archive(download)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, ValueError) as error:
        raise Unusable(f"{shown(download.name)} is no folder, and no zip file that can be read: {error}") from error
    with archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        if len(infos) > MAX_FILES:
            raise Unusable(f"the archive holds {len(infos)} files; no more than {MAX_FILES} are read")
        yield [_zipped(info, archive, info.header_offset in no_text) for info in infos]


def _on_disk(path, download):
    name = path.relative_to(download).as_posix()
    status = path.lstat()
    trouble = "a symbolic link, which is not followed" if path.is_symlink() else _trouble(name, status.st_size)

    def read():
        file = read_file(path)
        if file.trouble and not file.trouble.endswith("is empty."):
            raise Unreadable(file.trouble)
        return file.raw

    return Entry(name, status.st_size, status.st_mtime, trouble, read)


def _zipped(info, archive, no_text):
    name = name_of(info)
    trouble = "encrypted" if info.flag_bits & 1 else _trouble(name, info.file_size)
    if no_text:
        trouble = "its name holds bytes that are no text"
    return Entry(name, info.file_size, _seconds(info.date_time), trouble, partial(_unzip, info, archive))


def _unzip(info, archive):
    try:
        with archive.open(info) as source:
            return source.read(MAX_BYTES)  # no more than file_size, which zipfile sees to
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error, NotImplementedError, ValueError) as error:
        raise Unreadable(f"it cannot be unpacked: {shown(error)}") from error


def _seconds(date_time):
    try:
        return time.mktime((*date_time, 0, 0, -1))
    except (ValueError, OverflowError):  # a month 0, say: the archive knows no time
        return 0.0


def _trouble(name, n_bytes):
    parts = name.split("/")
    if not name.isprintable():
        return "its name holds control characters, or bytes that are no text"
    if "" in parts or ".." in parts:
        return "its path leads out of the download"
    if any(part.startswith((".", "~")) for part in parts) or "__MACOSX" in parts:
        return HIDDEN
    if not name.lower().endswith(NOTEBOOKS):
        return NO_NOTEBOOK
    return f"{size(n_bytes)} large; no more than {size(MAX_BYTES)} is read" if n_bytes > MAX_BYTES else ""
