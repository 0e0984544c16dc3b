"""Get the bytes of a submitted file, if it is an ordinary file of a reasonable size."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from check.words import listed, quoted, size

MAX_BYTES = 200_000_000
CLEAR = "Clear the outputs of all cells, save, and hand it in again."


@dataclass(frozen=True)
class File:
    """A submitted file: its bytes, or the reason in plain words why there are none."""

    raw: bytes = b""
    trouble: str = ""


def fetch(path: Path) -> File:
    """The bytes of a submitted file, if it is an ordinary one; links are not followed."""
    name = path.name
    # The student's folder, the chapter's folder in it and the file itself came from outside.
    if any(part.is_symlink() for part in (path, path.parent, path.parent.parent)):
        return File(trouble=f"{name} is a symbolic link, which is not followed: hand in the file itself.")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return File(trouble=_missing(path))
    except OSError as error:
        return File(trouble=f"{name} could not be opened ({error.strerror}).")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return File(trouble=f"{name} is no file but a folder, a pipe or a device.")
        if status.st_size > MAX_BYTES:
            return File(trouble=_too_large(name, status.st_size))
        with open(descriptor, "rb", closefd=False) as file:
            raw = file.read(MAX_BYTES)
    finally:
        os.close(descriptor)
    return File(raw) if raw.strip() else File(trouble=f"{name} is empty.")


def _missing(path):
    there = sorted(entry.name for entry in path.parent.iterdir()) if path.parent.is_dir() else []
    holds = f"it holds {listed(map(quoted, there))}" if there else "it is empty"
    return f"There is no {path.name} in the submission; {holds}."


def _too_large(name, n_bytes):
    return f"{name} is {size(n_bytes)} large; no more than {size(MAX_BYTES)} is read. {CLEAR}"
