"""The stored bytecode of modules that Python imports when a page starts; see README.md."""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from autograder.release.gate import content_digest

FILE = Path(__file__).with_name("stored.zip")
# What only compilers and type checkers read. No page has any, and Python can import none of these files.
NOT_FOR_PAGES = re.compile(r"^numpy/.*\.(?:pyi|pxd|pyx|h|c|a)$")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every member, so that the same content gives the same bytes


def save(archives: dict[str, bytes], bytecode: dict[str, bytes], file: Path = FILE) -> None:
    """Write the bytecode, and beside it a JSON file that identifies each archive without and with it.

    archives: the archives whose modules were compiled, name -> content. bytecode: "ARCHIVE/MODULE.pyc" -> content. The
    JSON file has for each archive its "sha256" without bytecode, and its `content_digest` "with_bytecode".
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
    """Return an archive with the stored bytecode instead of its sources, or unchanged if none is stored for it."""
    digests = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    known = digests.get(name, {}).get("sha256") == hashlib.sha256(content).hexdigest()
    return _merged(name, content, file) if known else content


def _merged(name: str, content: bytes, file: Path) -> bytes:
    with zipfile.ZipFile(file) as stored:
        members = [member for member in stored.namelist() if member.startswith(f"{name}/")]
        bytecode = {member.removeprefix(f"{name}/"): stored.read(member) for member in members}
    return _zipped(_replaced(content, bytecode), zipfile.ZIP_DEFLATED)


def _replaced(content: bytes, bytecode: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a zip file that a page can use, each source that has bytecode replaced by it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.namelist():
            if NOT_FOR_PAGES.match(member):
                continue
            compiled = bytecode.get(f"{member}c")
            yield (member, archive.read(member)) if compiled is None else (f"{member}c", compiled)


def _zipped(members: Iterable[tuple[str, bytes]], compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, compression)
    return buffer.getvalue()
