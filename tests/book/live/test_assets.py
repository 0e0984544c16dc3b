"""Third-party files for the pages come from the cache or from a package, and are identified by their hash."""

import hashlib
import io
import json
import tarfile
import zipfile
from types import SimpleNamespace

import pytest
from sphinx.errors import SphinxError

from autograder.release.bundle import zipped
from book.live import assets, page_scripts
from book.live.assets import PYODIDE_LOCK
from book.live.built_files import python_files
from book.live.page_data import KEY, LivePage
from book.live.self_study import HELPERS

pytestmark = pytest.mark.book

CONTENT = b"what is wanted"


@pytest.fixture
def downloads(monkeypatch, tmp_path):
    """Return the names of the downloaded packages, in order, and the packages themselves, a dict to fill by source.

    The lock has one file, and two packages may contain it.
    """
    downloads, packages = [], {}
    lock = {
        "packages": {
            "first": {"source": "npm", "name": "a", "version": "1", "folder": "package/"},
            "second": {"source": "pypi", "name": "b", "version": "2", "folder": "b/data/"},
        },
        "files": [{"name": "file", "sha256": hashlib.sha256(CONTENT).hexdigest(), "from": ["first", "second"]}],
    }
    monkeypatch.setattr(assets, "lock", lambda: lock)

    def fetch(package, place):
        downloads.append(package["name"])
        if package["source"] not in packages:
            raise FileNotFoundError("no such package")
        return packages[package["source"]]

    monkeypatch.setattr(assets, "DOWNLOAD", {"npm": fetch, "pypi": fetch})
    return SimpleNamespace(names=downloads, packages=packages, cache=tmp_path / "cache")


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


def test_a_file_comes_from_the_first_package_and_then_from_the_cache(downloads, tmp_path):
    downloads.packages["npm"] = npm_package(tmp_path, CONTENT)
    for _ in range(2):
        assert assets.files(downloads.cache)["file"].read_bytes() == CONTENT
    assert downloads.names == ["a"]


@pytest.mark.parametrize("first", ["absent", "another", "without"])
def test_the_next_package_is_downloaded_if_anything_is_wrong_with_the_first(downloads, tmp_path, first):
    if first != "absent":
        content, name = (b"another", "package/file") if first == "another" else (CONTENT, "package/elsewhere")
        downloads.packages["npm"] = npm_package(tmp_path, content, name)
    downloads.packages["pypi"] = wheel(tmp_path, CONTENT)
    assert assets.files(downloads.cache)["file"].read_bytes() == CONTENT
    assert downloads.names == ["a", "b"]


def test_a_changed_file_in_the_cache_is_downloaded_again(downloads, tmp_path):
    downloads.packages["npm"] = npm_package(tmp_path, CONTENT)
    assets.files(downloads.cache)["file"].write_bytes(b"changed")
    assert assets.files(downloads.cache)["file"].read_bytes() == CONTENT
    assert downloads.names == ["a", "a"]


def test_the_error_names_the_missing_file_and_the_reasons(downloads, tmp_path):
    downloads.packages["pypi"] = wheel(tmp_path, b"another")
    with pytest.raises(assets.AssetsUnavailable) as refused:
        assets.files(downloads.cache)
    assert str(refused.value) == "could not find file; a 1 of npm: no such package; b 2 of pypi has another file"
    assert not list(downloads.cache.rglob("*"))


def test_the_lock_names_the_hash_and_the_sources_of_each_file():
    lock = json.loads(assets.LOCK.read_text())
    for file in lock["files"]:
        assert len(bytes.fromhex(file["sha256"])) == 32
        assert file["from"] and set(file["from"]) <= set(lock["packages"])


@pytest.fixture
def without(monkeypatch, tmp_path):
    def nothing():
        raise assets.AssetsUnavailable("could not find numpy")

    monkeypatch.setattr(assets, "files", nothing)
    monkeypatch.delenv(page_scripts.MUST, raising=False)
    page = LivePage(
        chapter="01_attention",
        number=1,
        setup="",
        helpers={},
        cells=[],
        sections={},
        title="",
        time="",
        questions=[],
        exercises={"softmax": "1"},
        elsewhere=[],
        uses={"softmax": []},
        needs={"softmax": []},
        modules={"softmax": "attention"},
        bundle="a.zip",
        start="c.zip",
        data={},
        bundle_with_other_keys="b.zip",
        notebook="a.ipynb",
    )
    env = SimpleNamespace(metadata={"chapters/01_attention": {KEY: page}}, all_docs={"chapters/01_attention": 0})
    store = tmp_path / "doctrees" / "live"
    store.mkdir(parents=True)
    for name in ("a.zip", "c.zip", "a.ipynb"):
        (store / name).touch()
    (store / "b.zip").write_bytes(zipped({HELPERS: b"{}", "requirements.txt": b"numpy\n"}))
    folders = {"outdir": tmp_path / "html", "doctreedir": store.parent}
    config = SimpleNamespace(lend="nothing")
    return SimpleNamespace(builder=SimpleNamespace(name="html"), config=config, env=env, **folders)


def test_the_build_continues_without_python_and_warns(without, capsys):
    scripts = page_scripts.Scripts()
    assert scripts.prepare(without, without.env) == ["chapters/01_attention"]
    assert scripts.folder == ""
    shipped = {file.name for file in (without.outdir / "_static" / "live").iterdir()}
    assert shipped == {"a.zip", "c.zip", "a.ipynb"}, "the files to download are there all the same"
    warning = "*** THE EXERCISES DO NOT RUN IN THIS BUILD: no Python for the pages, could not find numpy."
    assert warning in capsys.readouterr().err
    assert scripts.prepare(without, without.env) == [], "a page that is the same is not written again"


def test_live_required_makes_missing_python_an_error(without, monkeypatch):
    monkeypatch.setenv("LIVE", "required")
    with pytest.raises(SphinxError, match="no Python for the pages"):
        page_scripts.Scripts().prepare(without, without.env)


def test_matplotlib_comes_with_everything_that_a_figure_needs(python_for_pages):
    packages = json.loads(python_files(python_for_pages)[PYODIDE_LOCK])["packages"]
    assert set(packages["matplotlib"]["depends"]) == packages.keys() - {"matplotlib"}
    assert {"numpy", "kiwisolver", "pillow", "python-dateutil"} < packages.keys()
    first = {file["name"] for file in assets.lock()["files"] if file.get("when") != "figures"}
    assert [name for name in first if name.endswith(".whl")] == [packages["numpy"]["file_name"]]
