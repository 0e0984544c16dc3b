"""Files of others for the pages: from the cache or out of a package, and by their hash alone."""

import hashlib
import io
import json
import tarfile
import zipfile
from types import SimpleNamespace

import pytest
from sphinx.errors import SphinxError

from book.live import assets, live_pages
from book.live.built_files import lock_of_pyodide
from book.live.page_data import KEY, LivePage
from book.live.self_study import GIVEN, zipped

pytestmark = pytest.mark.book

CONTENT = b"what is wanted"


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """A lock of one file that two packages may have; what is asked of them, in order. Fill `packages` by source."""
    asked, packages = [], {}
    lock = {
        "packages": {
            "first": {"source": "npm", "name": "a", "version": "1", "folder": "package/"},
            "second": {"source": "pypi", "name": "b", "version": "2", "folder": "b/data/"},
        },
        "files": [{"name": "file", "sha256": hashlib.sha256(CONTENT).hexdigest(), "from": ["first", "second"]}],
    }
    monkeypatch.setattr(assets, "lock", lambda: lock)

    def fetch(package, place):
        asked.append(package["name"])
        if package["source"] not in packages:
            raise FileNotFoundError("no such package")
        return packages[package["source"]]

    monkeypatch.setattr(assets, "DOWNLOAD", {"npm": fetch, "pypi": fetch})
    return SimpleNamespace(names=asked, packages=packages, cache=tmp_path / "cache")


def npm_package(folder, content, name="package/file"):
    with tarfile.open(folder / "a.tgz", "w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return folder / "a.tgz"


def wheel(folder, content):
    with zipfile.ZipFile(folder / "b.whl", "w") as archive:
        archive.writestr("b/data/file", content)
    return folder / "b.whl"


def test_a_file_comes_out_of_the_first_package_and_then_from_the_cache(asked, tmp_path):
    asked.packages["npm"] = npm_package(tmp_path, CONTENT)
    for _ in range(2):
        assert assets.files(asked.cache)["file"].read_bytes() == CONTENT
    assert asked.names == ["a"]


@pytest.mark.parametrize("first", ["absent", "another", "without"])
def test_whatever_is_wrong_with_one_package_the_next_one_is_asked(asked, tmp_path, first):
    if first != "absent":
        content, name = (b"another", "package/file") if first == "another" else (CONTENT, "package/elsewhere")
        asked.packages["npm"] = npm_package(tmp_path, content, name)
    asked.packages["pypi"] = wheel(tmp_path, CONTENT)
    assert assets.files(asked.cache)["file"].read_bytes() == CONTENT
    assert asked.names == ["a", "b"]


def test_a_cache_that_was_changed_is_not_believed(asked, tmp_path):
    asked.packages["npm"] = npm_package(tmp_path, CONTENT)
    assets.files(asked.cache)["file"].write_bytes(b"changed")
    assert assets.files(asked.cache)["file"].read_bytes() == CONTENT
    assert asked.names == ["a", "a"]


def test_what_is_nowhere_is_named_with_the_reasons(asked, tmp_path):
    asked.packages["pypi"] = wheel(tmp_path, b"another")
    with pytest.raises(assets.AssetsUnavailable) as refused:
        assets.files(asked.cache)
    assert str(refused.value) == "could not find file; a 1 of npm: no such package; b 2 of pypi has another file"
    assert not list(asked.cache.rglob("*"))


def test_the_lock_names_each_file_with_its_hash_and_where_it_is():
    lock = json.loads(assets.LOCK.read_text())
    for file in lock["files"]:
        assert len(bytes.fromhex(file["sha256"])) == 32 and file["of"]
        assert file["from"] and set(file["from"]) <= set(lock["packages"])


@pytest.fixture
def without(monkeypatch, tmp_path):
    def nothing():
        raise assets.AssetsUnavailable("could not find numpy")

    monkeypatch.setattr(assets, "files", nothing)
    monkeypatch.delenv(live_pages.MUST, raising=False)
    page = LivePage("01_attention", 1, "", {}, [], {}, {"softmax": "1"}, [], "a.zip", "b.zip", "a.ipynb")
    env = SimpleNamespace(metadata={"chapters/01_attention": {KEY: page}}, all_docs={"chapters/01_attention": 0})
    store = tmp_path / "doctrees" / "live"
    store.mkdir(parents=True)
    for name in ("a.zip", "a.ipynb"):
        (store / name).touch()
    (store / "b.zip").write_bytes(zipped({GIVEN: b"{}", "requirements.txt": b"numpy\n"}))
    folders = {"outdir": tmp_path / "html", "doctreedir": store.parent}
    return SimpleNamespace(builder=SimpleNamespace(name="html"), env=env, **folders)


def test_without_python_the_build_goes_on_and_says_so_loudly(without, capsys):
    scripts = live_pages.Scripts()
    assert scripts.prepare(without, without.env) == ["chapters/01_attention"]
    assert scripts.folder == ""
    shipped = {file.name for file in (without.outdir / "_static" / "live").iterdir()}
    assert shipped == {"a.zip", "a.ipynb"}, "what one can download is there all the same"
    warning = "*** THE EXERCISES DO NOT RUN IN THIS BUILD: no Python for the pages, could not find numpy."
    assert warning in capsys.readouterr().err
    assert scripts.prepare(without, without.env) == [], "a page that is the same is not written again"


def test_who_publishes_can_insist(without, monkeypatch):
    monkeypatch.setenv("LIVE", "required")
    with pytest.raises(SphinxError, match="no Python for the pages"):
        live_pages.Scripts().prepare(without, without.env)


def test_matplotlib_brings_all_that_it_needs_for_a_figure(python_for_pages):
    packages = json.loads(lock_of_pyodide(python_for_pages))["packages"]
    assert set(packages["matplotlib"]["depends"]) == packages.keys() - {"matplotlib"}
    assert {"numpy", "kiwisolver", "pillow", "python-dateutil"} < packages.keys()
    first = {file["name"] for file in assets.lock()["files"] if file.get("when") != "figures"}
    assert [name for name in first if name.endswith(".whl")] == [packages["numpy"]["file_name"]]
