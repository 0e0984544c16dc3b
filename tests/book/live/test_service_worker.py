"""The service worker keeps a file only if the page asks for it, the book has it, and its server allows that."""

import shutil

import pytest

from book.serve import Handler, serving
from tests.book.conftest import ROOT
from tests.book.live.reader import only_in_chromium

pytestmark = pytest.mark.book

KEPT = "caches.match('{}').then(response => !!response)"
REGISTER = "navigator.serviceWorker.register('live-offline.js').then(() => navigator.serviceWorker.ready).then(() => 1)"
ASK = "navigator.serviceWorker.ready.then(({{active}}) => active.postMessage({{addresses: {}, folder: ''}}))"


class ForbidsToStore(Handler):
    """A server that forbids browsers to store the page private.html."""

    def end_headers(self):
        if "private" in self.path:
            self.send_header("Cache-Control", "no-store")
        super().end_headers()


@only_in_chromium
def test_only_pages_of_the_book_that_may_be_stored_are_kept(browser, tmp_path):
    (tmp_path / "book").mkdir()
    for name in ("book/page.html", "book/last.html", "book/private.html", "other.html"):
        (tmp_path / name).write_text("<!DOCTYPE html><title>A page</title>")
    shutil.copy(ROOT / "book" / "live" / "in_page" / "service_worker.js", tmp_path / "book" / "live-offline.js")
    with serving(tmp_path, ForbidsToStore) as address:
        browser.open(f"{address}/book/page.html")
        browser.evaluate(REGISTER)
        asked = [f"{address}/{name}" for name in ("other.html", "book/private.html", "book/page.html")]
        for addresses in (asked, [f"{address}/book/last.html"]):
            browser.evaluate(ASK.format(addresses))
            browser.wait(KEPT.format(addresses[-1]))
        assert [address for address in asked if browser.evaluate(KEPT.format(address))] == [asked[-1]]
        assert browser.evaluate("caches.keys().then(names => names.includes('book /book/'))")
