"""Chapter 1: the trained translator at its opening, which the page loads only when the reader scrolls near."""

import pytest

from solutions import numbers
from tests.book.conftest import parsed
from tests.book.extensions.explorer import STATUS, reads_well
from tests.book.extensions.test_explorer_translator import press_toggle, type_number, written_for
from tests.choosing import thinned

pytestmark = pytest.mark.book

PLACE = "document.querySelector('[data-explorer=sentence]')"
MAP = f"[...{PLACE}.querySelectorAll('tr')].map(row => [...row.cells].map(cell => cell.textContent))"
LATER = ("translator.npz.js", "model.js", "translator.js", "explore-sentence.js")


def loaded(tab):
    """Return which of the translator's files the tab has requested, in order."""
    names = [url.rpartition("/")[2].partition("?")[0] for url in tab.requested_urls()]
    return [name for name in names if name in LATER]


@pytest.fixture
def tab(html, browser):
    """Yield the opening of chapter 1, just opened, and leave the page for the tests of its other explorer."""
    browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
    browser.open((html / "chapters" / "01_attention.html").as_uri())
    yield browser
    browser.open("about:blank")


@pytest.fixture
def near(tab):
    tab.scroll_to(PLACE)
    tab.wait(f"!!{PLACE}.querySelector('table')")
    return tab


def translates(tab, number, struck=()):
    """Check that the page shows the mean of the heads of the book's model. Return the sentence below the controls."""
    _, tokens, _, weights = written_for(number, struck)
    rows = [
        [numbers.VOCABULARY[token], *("" if weight < 0.005 else f"{weight:.2f}" for weight in row)]
        for token, row in zip(tokens, weights.mean(axis=0), strict=True)
        if token != numbers.EOS
    ]
    assert tab.evaluate(MAP) == [["weights", *numbers.english(number)], *rows]
    return tab.evaluate(STATUS)


def test_the_page_loads_the_model_only_when_the_reader_comes_near(tab):
    assert loaded(tab) == []
    height = tab.evaluate(f"{PLACE}.offsetHeight")
    tab.scroll_to(PLACE)
    tab.wait(f"!!{PLACE}.querySelector('table')")
    assert loaded(tab) == list(LATER)
    assert abs(tab.evaluate(f"{PLACE}.offsetHeight") - height) < 60, "the text below moves"
    assert not tab.exceptions()


def test_the_page_itself_has_no_parameters(html):
    page = parsed(html / "chapters" / "01_attention.html")
    (place,) = page.select("[data-explorer=sentence]")
    assert not place.select("script") and "five" in place.text


def test_the_reader_changes_the_number_and_strikes_out_a_word(near):
    assert translates(near, 245) == "245: zwei hundert fünf und vier zig. That is right."
    press_toggle(near, 0, 3)
    answer = translates(near, 245, struck=[3])
    assert answer == "245: zwei hundert vier zig. The right translation is zwei hundert fünf und vier zig."
    type_number(near, 77_777)
    assert translates(near, 77_777).endswith("That is right.")
    type_number(near, 100_000)
    refused = "The model has learnt the whole numbers from 0 to 99,999. What you see still belongs to 77777."
    assert translates(near, 77_777) == refused
    assert near.evaluate(f"{PLACE}.querySelector('table').checkVisibility()")
    type_number(near, 7)
    assert translates(near, 7) == "7: sieben. That is right."
    assert reads_well(near)


@pytest.mark.parametrize("width", thinned([1280, 390], [390], "another width"))
def test_the_longest_number_fits(html, browser, width):
    browser.open((html / "chapters" / "01_attention.html").as_uri(), width=width)
    browser.scroll_to(PLACE)
    browser.wait(f"!!{PLACE}.querySelector('table')")
    type_number(browser, 77_777)
    assert browser.evaluate(f"{PLACE}.scrollWidth <= {PLACE}.clientWidth")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    browser.open("about:blank")
