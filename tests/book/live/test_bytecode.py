"""The bytecode with which Python in a page starts: what is stored, and which part of it a page gets."""

import hashlib
import io
import json
import shutil
import zipfile

import pytest

from book.live import assets
from book.live.built_files import python_files
from book.live.bytecode import make, stored

pytestmark = pytest.mark.book


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_bytecode_replaces_the_source_of_its_module_alone(tmp_path):
    archive = zipped(**{"json/__init__.py": b"source", "ast.py": b"other source", "LICENSE": b"text"})
    stored.save({"library.zip": archive}, {"library.zip/json/__init__.pyc": b"code"}, tmp_path / "stored.zip")
    replaced = stored.with_bytecode("library.zip", archive, tmp_path / "stored.zip")
    assert members(replaced) == {"json/__init__.pyc": b"code", "ast.py": b"other source", "LICENSE": b"text"}
    assert stored.with_bytecode("library.zip", archive, tmp_path / "stored.zip") == replaced
    assert stored.with_bytecode("another.zip", archive, tmp_path / "stored.zip") == archive


def test_bytecode_of_another_version_is_not_used(tmp_path):
    stored.save(
        {"library.zip": zipped(**{"ast.py": b"old"})}, {"library.zip/ast.pyc": b"code"}, tmp_path / "stored.zip"
    )
    new = zipped(**{"ast.py": b"new"})
    assert stored.with_bytecode("library.zip", new, tmp_path / "stored.zip") == new


def test_the_stored_bytecode_is_that_of_the_locked_files():
    locked = {file["name"]: file["sha256"] for file in assets.lock()["files"]}
    digests = json.loads(stored.FILE.with_suffix(".json").read_text())
    hashes = {name: archive["sha256"] for name, archive in digests.items()}
    assert len(hashes) == 2
    assert hashes == {name: locked[name] for name in hashes}, "run `make bytecode`"


def test_a_page_gets_each_module_in_one_form_and_the_lock_file_its_hash(python_for_pages):
    python = python_files(python_for_pages)
    numpy = next(name for name in python if name.startswith("numpy"))
    for name in ("python_stdlib.zip", numpy):
        before, after = (members(data) for data in (python_for_pages[name].read_bytes(), python[name]))
        sources = {module.removesuffix("c") if module.endswith(".pyc") else module for module in after}
        assert len(after) == len(sources)
        left_out = before.keys() - sources
        assert sources < before.keys() if name == numpy else not left_out
        assert not [member for member in left_out if member.endswith((".py", ".so"))]  # Python can import these
        assert 80 < sum(module.endswith(".pyc") for module in after) < 200
    packages = json.loads(python["pyodide-lock.json"])["packages"]
    assert packages["numpy"]["sha256"] == hashlib.sha256(python[numpy]).hexdigest()


@pytest.mark.thorough("the hashes already show that the bytecode is that of the locked files")
def test_the_same_files_give_the_same_bytecode(python_for_pages):
    if shutil.which("node") is None:
        pytest.skip("NO NODE: the bytecode was not made again. Install it: `apt-get install nodejs`.")
    bytecode = make.compiled({name: path.read_bytes() for name, path in python_for_pages.items()})
    assert members(stored.FILE.read_bytes()) == bytecode
