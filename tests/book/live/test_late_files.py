"""What a page loads before its first answer, and what it loads only when Python needs it."""

import re

import pytest

from book.serve import Handler, serving
from tests.book.live.reader import RIGHT, Page, only_in_chromium
from tests.book.live.test_loading import NEW_READER
from tests.book.live.test_offline_copy import KEPT

pytestmark = pytest.mark.book

IMPORTS = """import decimal, json.tool, unittest.mock
print(decimal.Decimal("0.1") + 1, np.polynomial.Polynomial([1, 1])(1), np.fft.fft([1, 1])[0].real)
"""
LOADED_IS_KEPT = """(async () => {
  const names = performance.getEntriesByType("resource").map(({ name }) => name);
  const addresses = [location.href, ...names.filter((name) => name.startsWith("http"))];
  return (await Promise.all(addresses.map((address) => caches.match(address)))).every(Boolean);
})()"""
PASSES_SOFTMAX_ON = "def attention_weights(queries, keys):\n    return softmax(queries @ keys.T)\n"


class Recording(Handler):
    """Serves the book, and notes what was asked for."""

    requested = []

    def do_GET(self):
        self.requested.append(re.sub(r"-[0-9a-f]{12}\.", ".", self.path.split("?")[0].rpartition("/")[2]))
        super().do_GET()


@pytest.fixture
def recorded_page(book, browser):
    """Return a page of a reader without a service worker, which would load all late files for the offline copy."""
    Recording.requested.clear()
    with serving(book / "_build" / "html", Recording) as address:
        page = Page(browser, address)
        with browser.before_each_page(NEW_READER):
            page.open()
        yield page


def late(requested):
    return [name for name in requested if name.endswith(".npz") or name == "rest.zip"]


def test_a_page_loads_the_key_of_the_exercise_that_runs_and_modules_that_code_imports(recorded_page):
    page, requested = recorded_page, Recording.requested
    assert not page.run("softmax", RIGHT.replace("axis=-1", "axis=0")).passes
    assert late(requested) == ["softmax.npz"]
    assert page.run("softmax", IMPORTS + RIGHT).shown.startswith("1.1 2.0 2.0\n")
    assert page.run("softmax", RIGHT).passes
    assert late(requested) == ["softmax.npz", "rest.zip"]


@only_in_chromium
def test_a_failing_exercise_loads_the_keys_of_those_that_it_calls(recorded_page):
    page = recorded_page
    page.write("softmax", RIGHT.replace("axis=-1", "axis=0"))
    assert "softmax" in page.run("attention_weights", PASSES_SOFTMAX_ON).shown
    assert late(Recording.requested) == ["attention_weights.npz", "softmax.npz"]


@only_in_chromium
def test_late_files_are_there_offline_before_python_needed_them(book, browser):
    with serving(book / "_build" / "html") as address:
        page = Page(browser, address)
        page.open()
        assert page.run("softmax", RIGHT).passes
        (rest,) = (book / "_build" / "html" / "_static" / "live").glob("*/pyodide/rest.zip")
        (key,) = (book / "_build" / "html" / "_static" / "live").glob("attention_weights-*.npz")
        for file in (rest, key):
            browser.wait(KEPT.format(f"/{file.relative_to(book / '_build' / 'html')}"))
        browser.wait(LOADED_IS_KEPT)
    page.open()
    assert page.run("softmax", IMPORTS + RIGHT).shown.startswith("1.1 2.0 2.0\n")
    assert page.run("attention_weights", PASSES_SOFTMAX_ON).shown
