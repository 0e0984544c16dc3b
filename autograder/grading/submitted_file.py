"""Read the bytes of a submitted file, if it is a regular file of a reasonable size."""

import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from check.words import listed, quoted, shown, size

MAX_BYTES = 200_000_000
EMPTY = "is empty: hand in the notebook."
SECRET = "submission_secret.txt"  # nbgrader makes the name of a student's feedback from its content
OF_NBGRADER = ("timestamp.txt", SECRET)  # what nbgrader puts beside a submitted notebook
NOT_READ = "too_large.json"  # what we put there instead of a file that could not be read, at first only for its size
CLEAR = (
    "Clear the outputs of all cells (and run `hand_in` again if it is there), save the notebook, and hand it in again."
)


@dataclass(frozen=True)
class NotRead:
    """A file that could not be read: its name, which the student chose, its size, and why; "" if it was too large."""

    name: str
    n_bytes: int
    why: str = ""


@dataclass(frozen=True)
class File:
    """A submitted file: its bytes or, in `trouble`, the reason why there are none."""

    raw: bytes = b""
    trouble: str = ""


def read_file(path: Path, owner: int | None = None) -> File:
    """Return the bytes of a submitted file, or the reason why we do not read it. This follows no links.

    owner: id of the user who must own the file and its folder; by default anyone may own them.
    """
    name, path = path.name, path.absolute()
    # Only the last three parts of the path come from outside: the student's folder, the chapter's folder, and the file.
    if any(part.is_symlink() for part in (path, path.parent, path.parent.parent)):
        return File(trouble=f"{name} is a symbolic link, and links are not followed: hand in the file itself.")
    try:
        descriptor, folder_owner = _opened(path)
    except FileNotFoundError:
        return File(trouble=_missing(path))
    except OSError as error:
        return File(trouble=f"{name} could not be opened ({error.strerror}): hand it in again.")
    try:
        status = os.fstat(descriptor)
        if owner is not None and {folder_owner, status.st_uid} != {owner}:
            return File(trouble=f"{name} or its folder belongs to another account: hand in a file of your own.")
        if not stat.S_ISREG(status.st_mode):
            return File(trouble=f"{name} is not a file but a folder, a pipe or a device: hand in the notebook.")
        if status.st_size > MAX_BYTES:
            return File(trouble=_too_large(name, status.st_size))
        with open(descriptor, "rb", closefd=False) as file:
            raw = file.read(MAX_BYTES)
    finally:
        os.close(descriptor)
    return File(raw) if raw.strip() else File(trouble=f"{name} {EMPTY}")


def _opened(path: Path) -> tuple[int, int]:
    """Return a descriptor of the file, and the owner of its folder. Raises OSError.

    None of the last three parts of the path may be a link, even if another process replaces them by links right now.
    """
    folder_only = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
    with ExitStack() as stack:
        outer = os.open(path.parent.parent, folder_only)
        stack.callback(os.close, outer)
        folder = os.open(path.parent.name or ".", folder_only, dir_fd=outer)  # "" is the name of the root
        stack.callback(os.close, folder)
        descriptor = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        return descriptor, os.fstat(folder).st_uid


def _missing(path: Path) -> str:
    hand_in = f"Hand in {path.name}, the notebook that you worked in, as Jupyter saves it."
    if record := _record(path.with_name(NOT_READ)):
        if not record.why:
            return _too_large(record.name, record.n_bytes)
        return f"{quoted(record.name)} could not be used: {shown(record.why, 300)}. {hand_in}"
    entries = path.parent.iterdir() if path.parent.is_dir() else ()
    names = sorted(entry.name for entry in entries if entry.name not in OF_NBGRADER)
    content = f"it holds {listed(map(quoted, names))}" if names else "it is empty"
    return f"There is no {path.name} in the submission; {content}. {hand_in}"


def _record(path: Path) -> NotRead | None:
    """Return the record of a file that could not be read, or None if there is no such record."""
    try:
        return msgspec.json.decode(read_file(path).raw, type=NotRead) if path.exists() else None
    except msgspec.DecodeError:
        return None


def _too_large(name: str, n_bytes: int) -> str:
    return f"{name} is {size(n_bytes)}; files of more than {size(MAX_BYTES)} are not read. {CLEAR}"
