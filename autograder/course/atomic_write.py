"""Write a file completely or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Replace a file's text. Readers see the old file or the new one, even after a killed run or a power cut.

    The caller makes sure that no other process writes the same file, for example with `course.lock.course_lock`.

    Args:
        mode: permissions of the file, before the umask.

    Raises OSError if it cannot write; then the old file is unchanged.
    """
    part = path.with_suffix(".part")  # overwrites what a killed run left
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)  # a rename may reach the disk before the content does
    os.replace(part, path)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path to write to, and rename that file to the one that the user named, with its mode, if all went well.

    Only its owner can read a new file. A link stays a link, and what is no regular file, such as /dev/stdout, is
    written to directly. If the body raises an exception, the old file is unchanged.
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
