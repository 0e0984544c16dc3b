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


LIBRARY, NUMPY = "python_stdlib.zip", "numpy-2.whl"
PYTHON = {
    "pyodide.mjs": b"script",
    LIBRARY: zipped(**{"json/__init__.py": b"source", "json/tool.py": b"tool", "abc.py": b"other", "LICENSE": b"text"}),
    NUMPY: zipped(**{"numpy/x.h": b"C", "numpy/a.so": b"a", "numpy/b.cpython-1-x.so": b"b", "n.dist-info/M": b"n"}),
}
BYTECODE = {"lib/python314.zip/json/__init__.pyc": b"code", "lib/python3.14/site-packages/numpy/a.so": b""}


def test_archives_keep_what_the_start_needs_and_the_rest_has_all_other_modules(tmp_path):
    file = tmp_path / "stored.zip"
    stored.save(PYTHON, BYTECODE, file)
    pages = stored.for_pages(PYTHON, file)
    assert pages == stored.for_pages(PYTHON, file)
    assert members(pages[LIBRARY]) == {"json/__init__.pyc": b"code"}
    assert members(pages[NUMPY]) == {"numpy/a.so": b"a", "n.dist-info/M": b"n"}
    assert members(pages["rest.zip"]) == {
        "lib/python314.zip/json/tool.py": b"tool",
        "lib/python314.zip/abc.py": b"other",
        "lib/python3.14/site-packages/numpy/b.cpython-1-x.so": b"b",
    }
    assert json.loads(pages["rest.json"]) == ["abc", "json.tool", "numpy.b"]
    assert pages["pyodide.mjs"] == b"script"


def test_bytecode_of_another_version_is_not_used(tmp_path):
    stored.save(PYTHON, BYTECODE, tmp_path / "stored.zip")
    new = PYTHON | {LIBRARY: zipped(**{"abc.py": b"new"})}
    pages = stored.for_pages(new, tmp_path / "stored.zip")
    assert {name: pages[name] for name in new} == new
    assert members(pages["rest.zip"]) == {} and pages["rest.json"] == b"[]"


def test_the_stored_bytecode_is_that_of_the_locked_files():
    locked = {file["name"]: file["sha256"] for file in assets.lock()["files"]}
    sources = json.loads(stored.FILE.with_suffix(".json").read_text())["sources"]
    assert len(sources) == 2
    assert sources == {name: locked[name] for name in sources}, "run `make bytecode`"


def test_a_page_gets_each_module_once_and_the_lock_file_its_hash(python_for_pages):
    python = python_files(python_for_pages)
    numpy = next(name for name in python if name.startswith("numpy"))
    rest = members(python["rest.zip"])
    for name, folder in (("python_stdlib.zip", "lib/python314.zip"), (numpy, "lib/python3.14/site-packages")):
        before, start = (members(data) for data in (python_for_pages[name].read_bytes(), python[name]))
        late = {path.removeprefix(f"{folder}/") for path in rest if path.startswith(folder)}
        first = {module.removesuffix("c") if module.endswith(".pyc") else module for module in start}
        modules = {member for member in before if member.endswith((".py", ".so"))}
        assert len(first) == len(start) and not first & late
        assert modules <= first | late <= before.keys()
        assert 80 < sum(module.endswith(".pyc") for module in start) < 200
    assert len(rest) == len(json.loads(python["rest.json"])) > 400
    packages = json.loads(python["pyodide-lock.json"])["packages"]
    assert packages["numpy"]["sha256"] == hashlib.sha256(python[numpy]).hexdigest()


@pytest.mark.thorough("the hashes already show that the bytecode is that of the locked files")
def test_the_same_files_give_the_same_bytecode(python_for_pages):
    if shutil.which("node") is None:
        pytest.skip("NO NODE: the bytecode was not made again. Install it: `apt-get install nodejs`.")
    bytecode = make.compiled({name: path.read_bytes() for name, path in python_for_pages.items()})
    assert members(stored.FILE.read_bytes()) == bytecode
