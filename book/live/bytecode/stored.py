"""The stored bytecode of modules that Python imports when a page starts, and the rest of Python; see README.md."""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from autograder.release.gate import content_digest

FILE = Path(__file__).with_name("stored.zip")
# The beginning of an archive's name -> the folder in which Pyodide puts its modules.
FOLDERS = {"python_stdlib": "lib/python314.zip", "numpy": "lib/python3.14/site-packages"}
REST, NAMES = "rest.zip", "rest.json"
MODULE = re.compile(r"(?P<name>[\w/-]+?)(/__init__)?(\.py|\.cpython-[\w-]+\.so)")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the date of every member, so that the same content gives the same bytes


def save(python: Mapping[str, bytes], bytecode: Mapping[str, bytes], file: Path = FILE) -> None:
    """Write the bytecode, and beside it a JSON file that identifies the archives without and with it.

    python: Pyodide's files and the wheels, name -> content. bytecode: path in Pyodide -> content.
    """
    file.write_bytes(_zipped(bytecode, zipfile.ZIP_LZMA))
    digests = {
        "sources": {name: hashlib.sha256(content).hexdigest() for name, content in _archives(python).items()},
        "divided": {name: content_digest(content) for name, content in _divided(python, bytecode).items()},
    }
    file.with_suffix(".json").write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def for_pages(python: Mapping[str, bytes], file: Path = FILE) -> dict[str, bytes]:
    """Return Pyodide's files as a page gets them, name -> content.

    The archives contain only the modules that the start needs, as bytecode. REST contains the other modules, and NAMES
    lists them. If the stored bytecode is that of other archives, the archives stay as they are, and REST is empty.
    """
    sources = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))["sources"]
    known = sources == {name: hashlib.sha256(content).hexdigest() for name, content in _archives(python).items()}
    divided = _divided(python, _members(file.read_bytes())) if known else {REST: _zipped({})}
    names = sorted(_name(path) for path in _members(divided[REST]))
    return {**python, **divided, NAMES: json.dumps(names).encode()}


def _archives(python: Mapping[str, bytes]) -> dict[str, bytes]:
    return {name: content for name, content in python.items() if name.startswith(tuple(FOLDERS))}


def _divided(python: Mapping[str, bytes], bytecode: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the archives with what the start of a page needs, and REST with the other modules under their paths.

    What Python cannot import is left out, such as a header of C, except for a wheel's licences and metadata.
    """
    divided, rest = {}, {}
    for name, content in _archives(python).items():
        folder = next(folder for beginning, folder in FOLDERS.items() if name.startswith(beginning))
        start = {}
        for member, data in _members(content).items():
            path = f"{folder}/{member}"
            if f"{path}c" in bytecode:
                start[f"{member}c"] = bytecode[f"{path}c"]
            elif path in bytecode or ".dist-info/" in member:
                start[member] = data
            elif MODULE.fullmatch(member):
                rest[path] = data
        divided[name] = _zipped(start)
    return {**divided, REST: _zipped(rest)}


def _name(path: str) -> str:
    """Return the name of the module with this path in Pyodide."""
    member = next(path.removeprefix(f"{folder}/") for folder in FOLDERS.values() if path.startswith(folder))
    match = MODULE.fullmatch(member)
    assert match
    return match["name"].replace("/", ".")


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(members: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, compression, compresslevel=9)
    return buffer.getvalue()
