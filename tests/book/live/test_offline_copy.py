"""The offline copy of the book: the service worker serves from it only what the build wrote."""

import hashlib
import json
import re

import pytest

from book.serve import serving
from tests.book.live.reader import RIGHT, Page, only_in_chromium

pytestmark = pytest.mark.book

KEPT = "caches.match('{}').then(response => !!response)"
STORE = "caches.keys().then(([name]) => caches.open(name)).then(cache => cache.put('{}', new Response({})))"
FETCH = "fetch('{}').then(response => response.text(), () => 'refused')"
FORGED = "document.title = 'forged'; postMessage({kind: 'missing', text: 'forged'})"


def hashes(html):
    """Return the hashes in the service worker of a built book, by path."""
    source = (html / "live-offline.js").read_text(encoding="utf-8")
    return json.loads(re.search(r"const HASHES = (\{.*?\});", source).group(1))


def test_the_service_worker_knows_every_file_of_the_book(book):
    html = book / "_build" / "html"
    files = {file.relative_to(html).as_posix(): file for file in html.rglob("*") if file.is_file()}
    del files["live-offline.js"]
    assert hashes(html) == {path: hashlib.sha256(file.read_bytes()).hexdigest() for path, file in files.items()}


@only_in_chromium
def test_a_file_that_the_page_loads_late_is_kept(page, browser):
    assert page.run("softmax", RIGHT).passes
    browser.wait(KEPT.format("/chapters/01_attention.html"))
    assert not browser.evaluate(KEPT.format("/_static/icon.svg?late"))
    browser.evaluate("new Promise(done => Object.assign(new Image(), { src: '/_static/icon.svg?late', onload: done }))")
    browser.wait(KEPT.format("/_static/icon.svg?late"))


@pytest.mark.thorough("a second wall: code cannot reach the copy at all, as `test_given_cells` shows")
@only_in_chromium
def test_a_forged_file_in_the_offline_copy_is_not_served(book, browser):
    """Another application on the same server, or pasted code that finds a way, can write into the cache."""
    html = book / "_build" / "html"
    (worker,) = html.glob("_static/live/*/worker.js")
    script, other = f"/{worker.relative_to(html)}", "/chapters/02_backward.html"
    with serving(html) as address:
        page = Page(browser, address)
        with browser.before_each_page("try { localStorage.clear() } catch {}"):
            page.open()
        assert page.run("softmax", RIGHT).passes
        browser.wait(KEPT.format(script))
        for path in (script, other):
            browser.evaluate(STORE.format(path, json.dumps(FORGED)))
        page.open()
        assert browser.evaluate(FETCH.format(script)) == worker.read_text(encoding="utf-8")
        assert page.run("softmax", RIGHT).passes
        browser.evaluate(STORE.format(other, json.dumps(FORGED)))
    page.open()
    assert page.run("softmax", RIGHT).passes, "the server's file has replaced the forged one"
    assert browser.evaluate(FETCH.format(other)) == "refused"
    browser.evaluate(STORE.format(script, json.dumps(FORGED)))
    page.open()
    # The browser has an HTTP cache of its own, which no script can write, and may answer from it.
    assert browser.evaluate(FETCH.format(script)) in ("refused", worker.read_text(encoding="utf-8"))
