"""The PDF of a small book, and how its pages print."""

import re

import pytest
from pypdf import PdfReader

from book.forms import pdf
from tests.book.forms.conftest import HIDDEN, words

pytestmark = pytest.mark.book


@pytest.fixture(scope="module")
def printed(small_book, chromium):
    pdf.make(chromium, small_book / "_build" / "html", small_book / "book.pdf", "A Title", "An Author")
    return PdfReader(small_book / "book.pdf")


def test_the_pdf_says_what_it_is_and_numbers_its_pages(printed):
    assert (printed.metadata.title, printed.metadata.author) == ("A Title", "An Author")
    for number, each in enumerate(printed.pages[1:], start=2):
        assert words(each.extract_text()).startswith(str(number))  # what stands in the margins comes first


def test_the_pdf_has_bookmarks_and_contents_that_agree(printed):
    def flat(items):
        return [each for item in items for each in (flat(item) if isinstance(item, list) else [item])]

    bookmarks = {each.title: printed.get_destination_page_number(each) + 1 for each in flat(printed.outline)}
    assert list(bookmarks) == ["A page", "1. Another page", "1.1. A section of it", "1.2. A table"]
    assert [type(item) for item in printed.outline].count(list) == 1  # sections stand below their chapter
    for title, number in bookmarks.items():
        assert title in words(printed.pages[number - 1].extract_text())
    lines = [*bookmarks, *map(str, bookmarks.values())]  # the numbers were laid over it
    assert words(printed.pages[1].extract_text()) == "2 Contents " + " ".join(lines)


def test_every_link_of_the_pdf_leads_somewhere(printed):
    outside, inside = set(), set()
    for each in printed.pages:
        for link in (note.get_object() for note in each.get("/Annots", ())):
            if "/A" in link:
                outside.add(link["/A"]["/URI"])
            else:
                inside.add(link["/Dest"])
    assert outside == {"https://example.org/elsewhere"}
    assert inside <= set(printed.named_destinations)
    assert {"/02_more", "/01_attention--equation-the-formula"} <= inside


def test_the_pdf_shows_what_is_folded_and_cuts_nothing_off(printed):
    text = words(" ".join(each.extract_text() for each in printed.pages))
    assert [missing for missing in HIDDEN if missing not in text.replace("'", "’")] == []
    assert text.count("the_end_of_a_wide_line") == 2  # in the code and below it
    for each in printed.pages[2:]:
        right = []
        each.extract_text(visitor_text=lambda text, cm, tm, font, size: right.append(tm[4] * cm[0] + cm[4]))  # noqa: B023
        assert max(right) < float(each.mediabox.right) - 40  # of 57 points that the margin has
    assert "\\frac" not in text


def test_a_picture_stands_on_one_page_with_its_caption(printed):
    pages = [words(each.extract_text()) for each in printed.pages]
    (shown,) = [each for each in pages if "What the picture shows." in each]
    assert "The picture itself." in shown


def test_no_row_of_a_table_is_broken(printed):
    pages = [words(each.extract_text()) for each in printed.pages]
    assert any("row 0 " in each and "row 8 " not in each for each in pages)  # it is longer than a page
    for row in range(9):
        assert [bool(re.search(rf"row {row}\b.*its end {row}\b", each)) for each in pages].count(True) == 1, row


def test_a_page_that_is_read_in_the_dark_is_printed_light_with_its_number(small_book, browser):
    browser.open((small_book / "_build" / "html" / "chapters" / "02_more.html").as_uri(), dark=True)
    theme = "document.documentElement.dataset.theme"
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(theme) == "light"
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]  # or the reader would change their mind meanwhile
    browser.send("Emulation.setEmulatedMedia", media="print", features=dark)
    shown = words(browser.evaluate("document.body.innerText"))
    browser.send("Emulation.setEmulatedMedia", media="", features=dark)
    assert shown.startswith("1. Another page 1.1. A section of it Back to")
    assert "Search" not in shown and "Contents" not in shown
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert browser.evaluate(theme) == "dark"
