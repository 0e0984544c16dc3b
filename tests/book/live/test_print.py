"""A printed page shows everything that the reader wrote."""

import base64
import io

import pytest
from pypdf import PdfReader

from book.live.first_exercise import EXERCISE
from tests.book.live.conftest import opened_by_new_reader
from tests.book.live.reader import only_in_chromium

pytestmark = pytest.mark.book

LONG = "\n".join(f"line_{number}_of_mine = {number}" for number in range(120))
WIDE = "wide = '" + "word " * 60 + "the_end_of_a_wide_line'"
CELL = "cell-4"


def printed(browser):
    """Return the text of the page as Chromium prints it, without spaces and line breaks."""
    pdf = base64.b64decode(browser.send("Page.printToPDF")["data"])
    return "".join("".join(page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages).split())


@only_in_chromium
def test_a_printed_page_shows_the_reader_s_code_instead_of_the_stub(without_python, browser, site):
    page = opened_by_new_reader(browser, site, "index")  # the shortest page with an exercise
    page.write(EXERCISE.name, f"{LONG}\n{WIDE}\n")
    text = printed(browser)
    assert f"def{EXERCISE.name}(scores):" not in text and text.count("Yourcode") == 1
    assert all(f"line_{number}_of_mine={number}" in text for number in range(120))
    assert "the_end_of_a_wide_line" in text
    assert "Run&check" not in text.partition("Yourcode")[2], "the text above the exercise names the button"
    page.press(EXERCISE.name, "Reset")
    text = printed(browser)
    assert f"def{EXERCISE.name}(scores):" in text and "Yourcode" not in text


@pytest.mark.thorough("the same for a given cell as for an exercise")
@only_in_chromium
def test_a_printed_page_shows_the_cells_that_the_reader_has_changed(page, browser):
    browser.evaluate(f"document.querySelector('#{CELL} .live-try button').click()")
    book = "".join(page.source(CELL).split())
    assert book in printed(browser)
    page.write(CELL, "# my own cell")
    text = printed(browser)
    assert "#myowncell" in text and book not in text
