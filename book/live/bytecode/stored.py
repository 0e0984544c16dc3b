"""The stored bytecode of modules that Python imports when a page starts; see README.md."""

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.release.zip_content import content_digest

FILE = Path(__file__).with_name("stored.zip")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every member, so that the same content gives the same bytes


def save(archives: dict[str, bytes], bytecode: dict[str, bytes], file: Path = FILE) -> None:
    """Write the bytecode, and beside it a JSON file that identifies each archive without and with it.

    Args:
        archives: the archives whose modules were compiled, name -> content.
        bytecode: "ARCHIVE/MODULE.pyc" -> content.
        file: where to write it. The JSON file has the suffix .json: name of the archive -> "sha256" of the archive
            without bytecode, and the `content_digest` of the archive "with_bytecode".
    """
    file.write_bytes(_zipped(sorted(bytecode.items()), zipfile.ZIP_LZMA))
    digests = {
        name: {
            "sha256": hashlib.sha256(content).hexdigest(),
            "with_bytecode": content_digest(_merged(name, content, file)),
        }
        for name, content in archives.items()
    }
    file.with_suffix(".json").write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def with_bytecode(name: str, content: bytes, file: Path = FILE) -> bytes:
    """Return an archive with the stored bytecode in place of its sources, or unchanged if none is stored for it.

    Args:
        name: name of the archive.
        content: its content.
        file: the stored bytecode.
    """
    digests = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    known = digests.get(name, {}).get("sha256") == hashlib.sha256(content).hexdigest()
    return _merged(name, content, file) if known else content


def _merged(name: str, content: bytes, file: Path) -> bytes:
    with zipfile.ZipFile(file) as stored:
        members = [member for member in stored.namelist() if member.startswith(f"{name}/")]
        bytecode = {member.removeprefix(f"{name}/"): stored.read(member) for member in members}
    return _zipped(_replaced(content, bytecode), zipfile.ZIP_DEFLATED)


def _replaced(content: bytes, bytecode: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a zip file, each source that has bytecode replaced by it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.namelist():
            compiled = bytecode.get(f"{member}c")
            yield (member, archive.read(member)) if compiled is None else (f"{member}c", compiled)


def _zipped(members: Iterable[tuple[str, bytes]], compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, compression)
    return buffer.getvalue()
