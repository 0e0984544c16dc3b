"""The server for one machine: what it sends, and with which headers."""

import gzip
import urllib.error
import urllib.request

import pytest

from book.serve import POLICY, server, serving

pytestmark = pytest.mark.book


@pytest.fixture
def site(tmp_path):
    (tmp_path / "_static" / "live").mkdir(parents=True)
    (tmp_path / "_static" / "live" / "a.wasm").write_bytes(bytes(100_000))
    (tmp_path / "index.html").write_text("<p>ü</p>" * 1000, encoding="utf-8")
    with serving(tmp_path) as address:
        yield address


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:
        return response.headers, response.read()


@pytest.mark.parametrize("path, kind", [("index.html", "text/html"), ("_static/live/a.wasm", "application/wasm")])
def test_a_browser_gets_files_compressed(site, tmp_path, path, kind):
    headers, content = get(f"{site}/{path}", **{"Accept-Encoding": "br, gzip"})
    assert (headers["Content-Encoding"], headers["Content-Type"]) == ("gzip", kind)
    assert headers["Content-Security-Policy"] == POLICY
    assert len(content) == int(headers["Content-Length"]) < 1000
    assert gzip.decompress(content) == (tmp_path / path).read_bytes()
    assert get(f"{site}/{path}")[1] == (tmp_path / path).read_bytes()


def test_a_file_that_changed_is_compressed_again(site, tmp_path):
    get(f"{site}/index.html", **{"Accept-Encoding": "gzip"})
    (tmp_path / "index.html").write_text("new")
    content = get(f"{site}/index.html", **{"Accept-Encoding": "gzip"})[1]
    assert gzip.decompress(content) == b"new"


def test_a_browser_may_keep_files_whose_names_hold_a_hash_but_no_error(site):
    assert "immutable" in get(f"{site}/_static/live/a.wasm")[0]["Cache-Control"]
    assert get(f"{site}/index.html")[0]["Cache-Control"] == "no-cache"
    with pytest.raises(urllib.error.HTTPError) as missing:
        get(f"{site}/_static/live/b.wasm")
    assert missing.value.headers["Cache-Control"] == "no-cache"


def test_an_unknown_address_gets_the_page_of_the_book(site, tmp_path):
    (tmp_path / "404.html").write_text("<html><head><title>Not found</title></head></html>")
    with pytest.raises(urllib.error.HTTPError) as missing:
        get(f"{site}/chapters/none.html")
    assert missing.value.code == 404 and missing.value.headers["Content-Security-Policy"] == POLICY
    assert b'<head><base href="/404.html"><title>Not found' in missing.value.read()


@pytest.mark.parametrize(
    "error, reported", [(BrokenPipeError, False), (ConnectionResetError, False), (ValueError, True)]
)
def test_a_reader_who_leaves_is_not_an_error(tmp_path, capfd, error, reported):
    with server(tmp_path) as started:
        try:
            raise error
        except error:
            started.handle_error(None, ("127.0.0.1", 1))
    assert (error.__name__ in capfd.readouterr().err) == reported
