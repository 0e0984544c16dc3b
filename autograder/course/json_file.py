"""Read and write the JSON files of a course folder, which only its owner may read."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from autograder.course.atomic_write import write_atomically
from autograder.errors import UserError

Content = TypeVar("Content")


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
    """Replace a file, in lines that people can read. Raises OSError as `write_atomically` does."""
    write_atomically(path, msgspec.json.format(msgspec.json.encode(content)).decode(), mode=0o600)
