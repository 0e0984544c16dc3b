"""Write a file of the course folder whole or not at all."""

import os
from pathlib import Path


def write_atomically(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Replace the file with this text; readers, a killed run and a power cut leave the old file or the new one.

    The caller sees to it that no other process writes the same file, with `course.lock.alone`, for example.

    Args:
        mode: permissions of the file, before the umask.

    Raises OSError, and then the old file is unchanged.
    """
    part = path.with_suffix(".part")  # overwrites what a killed run left
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)  # a rename may reach the disk before the content does
    os.replace(part, path)
