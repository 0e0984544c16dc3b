"""Python that does not load: the page says why, and the reader can try again."""

import pytest

from book.serve import Handler, serving
from tests.book.live.reader import RIGHT, Page

pytestmark = pytest.mark.book


class Faulty(Handler):
    """Serves the book, except for one file, which `fault` serves instead."""

    file, fault = "", None

    def do_GET(self):
        if self.file and self.path.split("?")[0].endswith(self.file):
            type(self).fault(self)
        else:
            super().do_GET()

    def not_found(self):
        self.send_error(404)

    def broken_off(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(b"PK")

    def stalled(self):
        self.broken_off()
        self.wfile.flush()
        self.rfile.read()  # wait until the browser gives up


@pytest.fixture
def faulty_site(book):
    with serving(book / "_build" / "html", Faulty) as address:
        yield address
    Faulty.file = ""


# The service worker of an earlier test would answer instead of the server.
NEW_READER = "delete Navigator.prototype.serviceWorker; try { localStorage.clear() } catch {};"
IMPATIENT = """const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message) {
  return post.call(this, "patience" in message ? { ...message, patience: window.patience ?? 2 } : message);
};
"""


OTHER_FAULT = pytest.mark.thorough("another fault of the server; the page reports each of them in the same way")


@pytest.mark.parametrize(
    "file, fault, reason",
    [
        pytest.param(
            "pyodide.asm.wasm",
            Faulty.not_found,
            "pyodide.asm.wasm: the server of the book answers with the error 404",
            marks=OTHER_FAULT,
        ),
        (".whl", Faulty.broken_off, "the connection to the server of the book failed"),
        pytest.param(".whl", Faulty.stalled, "nothing has arrived for 2 seconds", marks=OTHER_FAULT),
        (".npz", Faulty.not_found, ".npz: the server of the book answers with the error 404"),
        pytest.param(".npz", Faulty.broken_off, "the connection to the server of the book failed", marks=OTHER_FAULT),
    ],
    ids=["missing", "broken off", "stalled", "missing key", "broken off key"],
)
def test_a_file_that_does_not_come_is_reported_and_can_be_loaded_again(browser, faulty_site, file, fault, reason):
    Faulty.file, Faulty.fault = file, fault
    page = Page(browser, faulty_site)
    with browser.before_each_page(NEW_READER + (IMPATIENT if fault is Faulty.stalled else "")):
        page.open()
    answer = page.run("softmax", RIGHT)
    assert answer.status == "Python could not be loaded."
    assert reason in answer.shown
    assert browser.evaluate("document.querySelector('#live-softmax progress').hidden")
    Faulty.file = ""
    browser.evaluate("window.patience = 600")
    page.press("softmax", "Try again")
    assert page.finish("softmax").passes


def test_python_does_not_run_without_what_shows_its_html(browser, faulty_site):
    Faulty.file, Faulty.fault = "purify.es.mjs", Faulty.not_found
    page = Page(browser, faulty_site)
    with browser.before_each_page(NEW_READER):
        page.open()
        assert page.run("softmax", RIGHT).status == "Python could not be loaded."
        Faulty.file = ""
        page.open()
    assert page.run("softmax", RIGHT).passes


def test_a_page_without_its_server_says_so(browser, book):
    with serving(book / "_build" / "html") as address:
        page = Page(browser, address)
        with browser.before_each_page(NEW_READER):
            page.open()
    answer = page.run("softmax", RIGHT)
    assert answer.status == "Python could not be loaded."
    assert "the connection to the server of the book failed" in answer.shown


def test_python_is_loaded_when_an_editor_comes_into_view(page_with_own_python, browser):
    page = page_with_own_python
    loaded = "performance.getEntriesByType('resource').some(({ name }) => name.endsWith('worker.js'))"
    assert not browser.evaluate(loaded)
    page.ask("softmax", "box.scrollIntoView()")
    browser.wait(loaded)
