"""Read a learning platform's download, a zip file or a folder: list its files first, then read them one at a time.

No file is written under a name from the download, and a file that cannot be read costs only its own student.
"""

import io
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from autograder.collecting.zip_entry_names import name_of, open_archive
from autograder.errors import UserError
from autograder.grading.submitted_file import EMPTY, MAX_BYTES, read_file
from check.words import shown, size

MAX_FILES = 100_000
NOTEBOOKS = (".ipynb", ".ipynb.txt")  # some browsers append .txt
SCRIPTS = (".py", ".py.txt")
ARCHIVES = (".zip",)
MAX_INNER_FILES = 1_000  # files in one upload that is a zip file
NO_NOTEBOOK = "not a notebook"
HIDDEN = "a hidden file that a program made"


class Unusable(UserError):
    """Nothing of a download is collected; the message says why."""


class Unreadable(Exception):
    """One file of a download cannot be read; the message says why."""


@dataclass(frozen=True)
class Entry:
    """A file of a download.

    name: its path inside the download. n_bytes: its size. written: its time, in seconds since 1970.
    problem: why it must not be read, empty if it may be; known without opening the file.
    content: returns its bytes, or raises any exception.
    """

    name: str
    n_bytes: int
    written: float
    problem: str
    content: Callable[[], bytes]

    def read(self) -> bytes:
        """Return the bytes of the file. Raises Unreadable and no other exception, whatever the file contains."""
        try:
            return self.content()
        except Unreadable:
            raise
        except Exception as error:  # zipfile lets through what each method of compression raises
            raise Unreadable(_why(error)) from error

    @property
    def too_large(self) -> bool:
        """Whether the file could be a notebook, and only its size keeps it from being read."""
        return self.problem == _too_large(self.n_bytes)


@contextmanager
def open_download(download: Path) -> Iterator[list[Entry]]:
    """Yield the files of a zip file or a folder, readable inside the context. Raises Unusable."""
    if download.is_dir():
        paths = sorted(download.rglob("*"))
        yield [_entry_on_disk(path, download) for path in paths if path.is_symlink() or path.is_file()]
        return
    if not download.exists():
        raise Unusable(f"there is no file or folder {shown(download)}")
    try:
        archive, not_text = open_archive(download)
    except Exception as error:
        raise Unusable(f"{shown(download.name)} is neither a folder nor a readable zip file: {error}") from error
    with archive:
        infos = _files(archive)
        if len(infos) > MAX_FILES:
            raise Unusable(f"the archive holds {len(infos)} files, more than the limit of {MAX_FILES}")
        yield [_entry_in_zip(info, archive, info.header_offset in not_text) for info in infos]


def _files(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return what is in an archive without its folders. `ZipInfo.is_dir` raises an error for an empty name."""
    return [info for info in archive.infolist() if not info.filename.endswith("/")]


def _entry_on_disk(path: Path, download: Path) -> Entry:
    name = path.relative_to(download).as_posix()
    status = path.lstat()
    problem = "a symbolic link, which is not followed" if path.is_symlink() else _problem(name, status.st_size)

    def content() -> bytes:
        file = read_file(path)
        if file.trouble and not file.trouble.endswith(EMPTY):
            raise Unreadable(file.trouble)
        return file.raw

    return Entry(name, status.st_size, status.st_mtime, problem, content)


def _entry_in_zip(info: zipfile.ZipInfo, archive: zipfile.ZipFile, not_text: bool) -> Entry:
    problem = "its name holds bytes that are not text" if not_text else _problem_in_zip(info)
    return Entry(name_of(info), info.file_size, _seconds(info.date_time), problem, partial(_unzip, info, archive))


def _problem_in_zip(info: zipfile.ZipInfo) -> str:
    return "it is encrypted" if info.flag_bits & 1 else _problem(name_of(info), info.file_size)


def _unzip(info: zipfile.ZipInfo, archive: zipfile.ZipFile) -> bytes:
    with archive.open(info) as source:
        return source.read(MAX_BYTES)  # zipfile never reads more than file_size


def _why(error: Exception) -> str:
    return f"it cannot be unpacked: {shown(error) or type(error).__name__}"


def unpacked(entry: Entry) -> list[Entry]:
    """Return the files in an entry that is itself a zip file, but not in zip files inside it; otherwise [entry]."""
    if entry.problem or not entry.name.lower().endswith(ARCHIVES):
        return [entry]
    try:
        with zipfile.ZipFile(io.BytesIO(entry.read())) as archive:
            infos = _files(archive)
    except Exception as error:
        return [replace(entry, problem=_why(error))]
    if len(infos) > MAX_INNER_FILES:
        return [replace(entry, problem=f"it holds {len(infos)} files, more than the limit of {MAX_INNER_FILES}")]
    return [_inner(entry, info) for info in infos] or [replace(entry, problem=NO_NOTEBOOK)]


def _inner(outer: Entry, info: zipfile.ZipInfo) -> Entry:
    """A file in an entry that is a zip file; it is unpacked when it is read, so no archive stays in memory."""

    def content() -> bytes:
        with zipfile.ZipFile(io.BytesIO(outer.read())) as archive:
            return _unzip(info, archive)

    name = name_of(info)
    problem = NO_NOTEBOOK if name.lower().endswith(ARCHIVES) else _problem_in_zip(info)
    return Entry(f"{outer.name}/{name}", info.file_size, outer.written, problem, content)


def _seconds(date_time: tuple[int, int, int, int, int, int]) -> float:
    try:
        return time.mktime((*date_time, 0, 0, -1))
    except (ValueError, OverflowError):  # month 0, for example, if the archive has no time
        return 0.0


def _problem(name: str, n_bytes: int) -> str:
    """Why a file must not be read, or an empty string."""
    parts = name.split("/")
    if not name.isprintable():
        return "its name holds control characters, or bytes that are not text"
    if "" in parts or ".." in parts:
        return "its path leads out of the download"
    if any(part.startswith((".", "~")) for part in parts) or "__MACOSX" in parts:
        return HIDDEN
    if not name.lower().endswith((*NOTEBOOKS, *SCRIPTS, *ARCHIVES)):
        return NO_NOTEBOOK
    return _too_large(n_bytes) if n_bytes > MAX_BYTES else ""


def _too_large(n_bytes: int) -> str:
    return f"it has {size(n_bytes)}, more than the limit of {size(MAX_BYTES)}"
