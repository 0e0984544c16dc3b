"""Write a file completely or not at all, and read and write the JSON files of a course folder."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from autograder.errors import UserError

Content = TypeVar("Content")


def write_atomically(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Replace a file's text. Readers see the old file or the new one, even after a killed run or a power cut.

    The caller makes sure that no other process writes the same file, for example with `course.lock.course_lock`.
    mode: permissions of the file, before the umask. Raises OSError, with the file's name, if it cannot write; then the
    old file is unchanged.
    """
    part = path.with_suffix(".part")  # overwrites what a killed run left
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(descriptor)  # a rename may reach the disk before the content does
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to, and rename that file to the one that the user named, with its mode, if all went well.

    Only its owner can read a new file. A link stays a link. If the path is not a regular file, such as /dev/stdout, it
    is yielded itself. If the body raises an exception, the old file is unchanged.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = path.resolve()
    part = target.with_name(f".{target.name}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        yield part
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def read_json(path: Path, kind: type[Content], otherwise: Content, advice: str = "") -> Content:
    """Return what a file contains, or `otherwise` if there is no file.

    Raises UserError, with advice, if the file does not contain this kind of data.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind) if path.exists() else otherwise
    except msgspec.DecodeError as error:
        advice = advice or "restore it from a backup, or delete it"
        raise UserError(f"{path} is damaged ({error}): {advice}") from error


def write_json(path: Path, content: Any) -> None:
    """Replace a file that only its owner may read, in lines for people. Raises OSError as `write_atomically` does."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(content)).decode(), mode=0o600)
