"""Pages are pleasant to read: wide code shows that it continues, links do not break, and colours differ clearly."""

import base64
import io

import matplotlib.image
import numpy as np
import pytest

from tests.browsers.contrast import CONTRAST
from tests.choosing import thinned

pytestmark = pytest.mark.book

BROKEN_WORDS = """(() => {
  const broken = [];
  const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.parentElement.closest("a") || text.data.includes("/")) continue; // an address may be longer than a line
    for (const word of text.data.matchAll(/[A-Za-z]{3,}/g)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) broken.push(word[0]);
    }
  }
  return broken;
})()"""

# Class of a token -> [contrast with the background, its colour], for all code of the page.
INKS = f"""(() => {{{CONTRAST}
  const inks = {{}};
  for (const token of document.querySelectorAll("article div.highlight pre span[class]")) {{
    const ink = getComputedStyle(token).color;
    const paper = getComputedStyle(token.closest("pre")).backgroundColor;
    inks[token.className] = [contrast(light(channels(ink)), light(channels(paper))), ink];
  }}
  return inks;
}})()"""

OTHER_BOX = pytest.mark.thorough("another box")
COLOURS = pytest.mark.parametrize("dark", thinned([False, True], [False], "the other colours"), ids=["light", "dark"])


@pytest.mark.parametrize("width", thinned([390, 1280], [390], "another width"), ids=["phone", "desk"])
@pytest.mark.parametrize(
    "page", thinned(["coverage", "symbols", "exercises", "since_then"], ["exercises"], "the same for other pages")
)
def test_no_link_breaks_inside_a_word(laid_out, browser, page, width):
    laid_out(f"chapters/{page}", width)
    assert browser.evaluate("document.querySelectorAll('article a').length") > 10
    assert browser.evaluate(BROKEN_WORDS) == []


def test_the_underline_of_a_name_is_below_its_underscores(laid_out, browser):
    laid_out("chapters/exercises", 1280)
    # House Mono's underscore reaches 0.13 em below the line; the underline must begin lower.
    offsets = "[...document.querySelectorAll('article a:has(code)')].map(link => "
    offsets += "parseFloat(getComputedStyle(link).textUnderlineOffset) / parseFloat(getComputedStyle(link).fontSize))"
    distances = browser.evaluate(offsets)
    assert len(distances) > 60 and min(distances) > 0.25


@COLOURS
def test_code_is_legible_and_comments_differ_from_numbers(laid_out, browser, dark):
    laid_out("chapters/01_attention", 1280, dark)
    inks = browser.evaluate(INKS)
    assert {"c1", "mi", "mf", "k", "sd"} <= inks.keys()
    assert not {token: ink for token, ink in inks.items() if ink[0] < 4.5}
    assert inks["c1"][1] not in (inks["mi"][1], inks["mf"][1])


def test_the_browser_makes_up_no_font(laid_out, browser):
    """The fonts have no bold italics. A browser would make them from the italics, with overlapping letters."""
    laid_out("chapters/01_attention", 1280)
    made_up = "em => getComputedStyle(em).fontWeight >= 600 && getComputedStyle(em).fontSynthesisWeight !== 'none'"
    titles = browser.evaluate("[...document.querySelectorAll('article legend em')].length")
    assert titles > 0
    assert browser.evaluate(f"[...document.querySelectorAll('article em')].filter({made_up}).length") == 0


def right_edge(browser, box):
    """Return the pixels of the last column of a box, inside its frame, as (rows, 3)."""
    position = browser.evaluate(f"(r => ({{x: r.right + scrollX - 3, y: r.top + scrollY, height: r.height}}))({box})")
    clip = {**position, "width": 1, "scale": 1}
    shot = browser.send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
    return matplotlib.image.imread(io.BytesIO(base64.b64decode(shot)))[:, 0, :3]


@COLOURS
@pytest.mark.parametrize(
    "page, selector",
    [
        pytest.param("01_attention", "div.highlight pre", marks=OTHER_BOX),
        ("symbols", ".pst-scrollable-table-container"),
        pytest.param("exercises", ".exercise-graph", marks=OTHER_BOX),
    ],
)
def test_a_box_that_scrolls_shows_that_it_continues(laid_out, browser, page, selector, dark):
    laid_out(f"chapters/{page}", 390, dark)
    wide = f"[...document.querySelectorAll('article {selector}')].find(box => box.scrollWidth > box.clientWidth + 9)"
    browser.evaluate(f"{wide}.scrollTo({{left: 0, behavior: 'instant'}})")
    before = np.median(right_edge(browser, f"{wide}.getBoundingClientRect()"), axis=0)
    browser.evaluate(f"{wide}.scrollTo({{left: 9999, behavior: 'instant'}})")
    after = np.median(right_edge(browser, f"{wide}.getBoundingClientRect()"), axis=0)
    assert np.abs(before - after).max() > 0.1


@pytest.mark.parametrize("page", thinned(["02_backward", "05_residual"], ["05_residual"], "the same for another page"))
def test_a_formula_has_as_much_room_below_as_above(laid_out, browser, page):
    laid_out(f"chapters/{page}", 1280)
    rooms = browser.evaluate("""[...document.querySelectorAll("article p + div.math:has(+ p)")].map(formula => {
      const ink = formula.querySelector("mjx-math").getBoundingClientRect();
      const above = ink.top - formula.previousElementSibling.getBoundingClientRect().bottom;
      return [above, formula.nextElementSibling.getBoundingClientRect().top - ink.bottom];
    })""")
    assert len(rooms) > 5
    assert [pair for pair in rooms if not 0.75 < pair[0] / pair[1] < 1.33] == []


# The elements over the text that stay in their place while it scrolls, except for the bar at the top.
OVER_THE_TEXT = """[...document.querySelectorAll("body *:not(.bd-header-article *)")]
  .filter(element => ["fixed", "sticky"].includes(getComputedStyle(element).position) && element.checkVisibility())
  .filter(element => !element.closest(".bd-sidebar-primary, .bd-sidebar-secondary, .bd-header-article, article"))
  .map(element => [element, element.getBoundingClientRect(), document.querySelector("article").getBoundingClientRect()])
  .filter(([_, box, text]) => box.bottom > 0 && box.top < innerHeight && box.right > text.left && box.left < text.right)
  .map(([element]) => element.id || element.className)"""


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_covers_the_text_when_the_reader_scrolls_up(laid_out, browser, width):
    laid_out("chapters/01_attention", width)
    for place in (3000, 2000):
        browser.evaluate(f"""scrollTo({{top: {place}, behavior: "instant"}})""")
        browser.wait(f"scrollY === {place}")
        browser.evaluate(
            "new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame)).then(() => 1)"
        )
    assert browser.evaluate(OVER_THE_TEXT) == []
