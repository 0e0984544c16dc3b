"""The PDF of a small book, and how its pages print."""

import re

import pytest
from lxml import html
from pypdf import PdfReader

from book.forms import pdf
from tests.book.forms.conftest import HIDDEN, words

pytestmark = pytest.mark.book


@pytest.fixture(scope="module")
def printed(small_book, chromium):
    pdf.make(chromium, small_book / "_build" / "html", small_book / "book.pdf", "A Title", "An Author")
    return PdfReader(small_book / "book.pdf")


def test_the_pdf_has_a_title_a_language_and_page_numbers(printed):
    assert printed.root_object["/Lang"] == "en"
    assert (printed.metadata.title, printed.metadata.author) == ("A Title", "An Author")
    for number, sheet in enumerate(printed.pages[1:], start=2):
        assert words(sheet.extract_text()).startswith(str(number))  # the text in the margins comes first


def test_the_pdf_has_tags_for_screen_readers(printed):
    def tags(element):
        children = element.get("/K", [])
        for child in children if isinstance(children, list) else [children]:
            if isinstance(child := child.get_object(), dict):
                yield from tags(child)
        yield element.get("/S")

    assert printed.root_object["/MarkInfo"]["/Marked"]
    found = set(tags(printed.root_object["/StructTreeRoot"]))
    assert {"/H1", "/H2", "/P", "/L", "/LI", "/Table", "/TH", "/TD", "/Link", "/Figure"} <= found


def test_the_answers_follow_all_questions_of_an_article(printed):
    text = words(" ".join(sheet.extract_text() for sheet in printed.pages)).replace("'", "’")
    last = text.index("What the picture shows")  # at the end of the article
    for part in ("the right answer’s reason", "No, see", "What the model answer says"):
        assert text.count(part) == 1 and text.index(part) > last
    assert text.index("Answers to the questions") < text.index("Another page", last)


def test_the_cover_shows_the_first_figure_and_no_icon():
    icon, figure = '<svg class="sd-octicon"></svg>', '<svg class="figure-drawing" id="the-model"></svg>'
    start = html.fromstring(f"<article><details>{icon}</details>{figure}</article>")
    assert pdf.cover("A Title", "An Author", start).xpath(".//svg/@id") == ["the-model"]


def test_the_bookmarks_of_the_pdf_agree_with_its_contents(printed):
    def flat(items):
        return [entry for item in items for entry in (flat(item) if isinstance(item, list) else [item])]

    bookmarks = {entry.title: printed.get_destination_page_number(entry) + 1 for entry in flat(printed.outline)}
    assert list(bookmarks) == ["A page", "1. Another page", "1.1. A section of it", "1.2. A table"]
    assert [type(item) for item in printed.outline].count(list) == 1  # sections are nested in their chapter
    for title, number in bookmarks.items():
        assert title in words(printed.pages[number - 1].extract_text())
    lines = [*bookmarks, *map(str, bookmarks.values())]  # the page numbers are printed over the contents
    assert words(printed.pages[1].extract_text()) == "2 Contents " + " ".join(lines)


def test_no_link_of_the_pdf_is_broken(printed):
    outside, inside = set(), set()
    for sheet in printed.pages:
        for link in (note.get_object() for note in sheet.get("/Annots", ())):
            if "/A" in link:
                outside.add(link["/A"]["/URI"])
            else:
                inside.add(link["/Dest"])
    assert outside == {"https://example.org/elsewhere"}
    assert inside <= set(printed.named_destinations)
    assert {"/02_more", "/01_attention--equation-the-formula"} <= inside


def test_the_pdf_shows_folded_text_and_cuts_off_no_line(printed):
    text = words(" ".join(sheet.extract_text() for sheet in printed.pages))
    assert [missing for missing in HIDDEN if missing not in text.replace("'", "’")] == []
    assert text.count("the_end_of_a_wide_line") == 2  # once in the code, and once below it
    for sheet in printed.pages[2:]:
        right = []
        sheet.extract_text(visitor_text=lambda text, cm, tm, font, size: right.append(tm[4] * cm[0] + cm[4]))  # noqa: B023
        assert max(right) < float(sheet.mediabox.right) - 40  # the margin is 57 points wide
    assert "\\frac" not in text


def test_a_picture_and_its_caption_are_on_one_page(printed):
    pages = [words(sheet.extract_text()) for sheet in printed.pages]
    (shown,) = [sheet for sheet in pages if "What the picture shows." in sheet]
    assert "The picture itself." in shown


def test_no_row_of_a_table_is_split_between_pages(printed):
    pages = [words(sheet.extract_text()) for sheet in printed.pages]
    assert any("row 0 " in sheet and "row 8 " not in sheet for sheet in pages)  # the table is longer than a page
    for row in range(9):
        assert [bool(re.search(rf"row {row}\b.*its end {row}\b", sheet)) for sheet in pages].count(True) == 1, row


def test_a_page_in_dark_colours_prints_in_light_colours_with_its_number(small_book, browser):
    browser.open((small_book / "_build" / "html" / "chapters" / "02_more.html").as_uri(), dark=True)
    theme = "document.documentElement.dataset.theme"
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert browser.evaluate(theme) == "light"
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]  # the reader's preference while printing
    browser.send("Emulation.setEmulatedMedia", media="print", features=dark)
    shown = words(browser.evaluate("document.body.innerText"))
    browser.send("Emulation.setEmulatedMedia", media="", features=dark)
    assert shown.startswith("1. Another page 1.1. A section of it Back to")
    assert "Search" not in shown and "Contents" not in shown
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert browser.evaluate(theme) == "dark"
