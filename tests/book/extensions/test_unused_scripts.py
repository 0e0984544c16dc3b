"""Pages do without the scripts of the theme that no page needs."""

import pytest

from tests.book.conftest import built_page, jupyter_book, page

pytestmark = pytest.mark.book

CHAPTER = "chapters/01_attention"  # this page has admonitions, whose icons the theme draws by style sheet
UNUSED = ("fontawesome", "webfonts", "searchtools.js", "language_data.js", "searchindex.js")


def test_a_page_loads_neither_font_awesome_nor_the_search(html, laid_out):
    """Nor does it load the theme's font, because ours has all icons of the page."""
    requested = laid_out(CHAPTER, 1280)
    assert [url for url in requested if any(name in url for name in UNUSED)] == []


def test_the_search_field_of_a_page_leads_to_results(html, browser):
    browser.open((html / f"{CHAPTER}.html").as_uri())
    browser.evaluate("document.querySelector('.search-button__button, .search-button-field').click()")
    browser.wait("document.querySelector('#pst-search-dialog').open")
    browser.type("causal mask")
    browser.press("Enter")
    browser.wait("document.querySelector('#search-results li a')?.href.includes('03_masking')")
    assert any("searchindex.js" in url for url in browser.requested_urls())


def test_every_page_is_written_without_them(little_book):
    page(little_book)
    jupyter_book(little_book)
    assert "pydata-sphinx-theme.js" in built_page(little_book)
    assert [name for name in UNUSED if name in built_page(little_book)] == []
    search = (little_book / "_build" / "html" / "search.html").read_text(encoding="utf-8")
    assert "searchtools.js" in search and "searchindex.js" in search
