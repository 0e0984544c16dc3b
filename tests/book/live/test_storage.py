"""What the browser stores: each book on a server has its own, and nothing of an earlier version is lost."""

import json

import pytest

from book.serve import serving
from tests.book.conftest import ROOT
from tests.book.live.conftest import NEW_READER
from tests.book.live.lasting_python import WithSecondTab
from tests.book.live.reader import RIGHT, Page, only_in_chromium
from tests.choosing import thinned

pytestmark = pytest.mark.book

BOOKS = ("one", "two")
PER_WINDOW = """for (const name of ["localStorage", "sessionStorage"]) {{
  delete window[name];
  Object.defineProperty(Window.prototype, name, {{ get() {{ {answer} }}, configurable: true }});
}}"""
WITHOUT_STORAGE = {
    "refused by an error": PER_WINDOW.format(answer='throw new DOMException("blocked", "SecurityError");'),
    "refused by null": PER_WINDOW.format(answer="return null;"),
    "full": 'Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };',
}
THEME = "JSON.stringify(document.documentElement.dataset)"
SHOWN = """[...document.querySelectorAll({selector})]
  .find(button => button.checkVisibility({{visibilityProperty: true}}) && button.offsetWidth)"""
# Button of the theme -> its selector, and what is true once it has worked.
BUTTONS = {  # the dialogs last, because an open one would hide the field of the search page
    "theme": ("button.theme-switch-button", f"{THEME} !== window.before"),
    "search": ("button.search-button", "document.activeElement.matches('input[type=search]')"),
    "menu": ("button.primary-toggle", "document.querySelector('#pst-primary-sidebar-modal').open"),
    "contents": ("button.secondary-toggle", "document.querySelector('#pst-secondary-sidebar-modal').open"),
}


@pytest.fixture(scope="module")
def site(book, tmp_path_factory):
    """The address of a server of two books."""
    folder = tmp_path_factory.mktemp("two books")
    for name in BOOKS:
        (folder / name).symlink_to(book / "_build" / "html")
    with serving(folder, WithSecondTab) as address:
        yield address


@pytest.fixture
def two_books(browser, site):
    """Return the same page of two books on one server, for a reader who has not opened them before."""
    pages = [Page(browser, f"{site}/{name}") for name in BOOKS]
    with browser.before_each_page(NEW_READER):
        pages[0].open()
    return pages


def test_only_one_script_uses_the_storage_of_the_browser():
    scripts = [*(ROOT / "book" / "static").glob("*.js"), *(ROOT / "book" / "live" / "in_page").glob("*.js")]
    users = [
        file.relative_to(ROOT).as_posix() for file in scripts if "localStorage" in file.read_text(encoding="utf-8")
    ]
    assert users == ["book/static/storage.js"], "use bookStorage, whose keys have the path of the book"


def test_two_books_on_one_server_do_not_mix(without_python, two_books):
    one, two = two_books
    one.write("softmax", "# in the first book")
    two.open()
    assert "raise NotImplementedError" in two.source("softmax")
    two.write("softmax", "# in the second book")
    one.open()
    assert one.source("softmax") == "# in the first book"


@pytest.mark.thorough("an earlier form of the storage")
def test_each_book_takes_over_once_what_was_stored_without_its_path(without_python, two_books, browser):
    one, two = two_books
    one.write("softmax", "# of an earlier version")
    old = "localStorage.setItem('exercise softmax', JSON.stringify(state))"
    browser.evaluate(f"{{const state = bookStorage.read('exercise softmax'); localStorage.clear(); {old}}}")
    for book in two_books:
        book.open()
        assert book.source("softmax") == "# of an earlier version"
    two.write("softmax", "# newer")
    for book, text in ((one, "# of an earlier version"), (two, "# newer")):
        book.open()
        assert book.source("softmax") == text
    assert "of an earlier version" in browser.evaluate("localStorage.getItem('exercise softmax')")


@pytest.mark.thorough("the same when the book has work already")
def test_what_was_stored_before_does_not_replace_what_the_book_has(without_python, two_books, browser):
    one, _ = two_books
    one.write("softmax", "# of this book")
    old = "localStorage.setItem('exercise softmax', JSON.stringify({...state, source: '# old'}))"
    forget = "localStorage.removeItem('/one/ taken over')"
    browser.evaluate(f"{{const state = bookStorage.read('exercise softmax'); {old}; {forget}}}")
    one.open()
    assert one.source("softmax") == "# of this book"


@pytest.mark.thorough("test_live_pages shows that each book keeps a copy of its own")
@only_in_chromium
def test_the_offline_copy_of_one_book_leaves_that_of_another(lasting_python, two_books, browser):
    one, _ = two_books
    other = "/two/_static/live/0123456789ab/worker.js"
    browser.evaluate(f"caches.open('book').then(cache => cache.put('{other}', new Response('')))")
    assert one.run("softmax", RIGHT).passes
    kept = "caches.match('{}').then(response => !!response)"
    browser.wait(kept.format("/one/chapters/01_attention.html"))
    assert browser.evaluate(kept.format(other))


@pytest.mark.parametrize("kind", thinned(list(WITHOUT_STORAGE), ["refused by null", "full"], "another way to refuse"))
@pytest.mark.parametrize(
    "name", thinned(["chapters/01_attention", "search", "404"], ["chapters/01_attention"], "another page")
)
def test_a_page_without_storage_keeps_its_buttons(without_python, browser, site, name, kind):
    with browser.before_each_page(WITHOUT_STORAGE[kind]):
        browser.open(f"{site}/one/{name}.html", width=390)
        for button, (selector, has_worked) in BUTTONS.items():
            if button != "contents" or name not in ("search", "404"):  # these two pages have no table of contents
                shown = SHOWN.format(selector=json.dumps(selector))
                browser.evaluate(f"window.before = {THEME}, ({shown}).click()")
                browser.wait(has_worked)


def test_a_page_without_storage_says_that_it_stores_nothing(without_python, browser, site):
    page = Page(browser, f"{site}/one")
    with browser.before_each_page(WITHOUT_STORAGE["refused by null"]):
        page.open()
        assert "does not store" in page.progress
