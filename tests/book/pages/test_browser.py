"""Every page in a real browser, from the disk and without a network."""

import pytest
import yaml

from tests.book.conftest import ROOT
from tests.browsers.axe import violations
from tests.browsers.contrast import CONTRAST
from tests.browsers.targets import small_targets
from tests.choosing import thinned

pytestmark = pytest.mark.book

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]), "search", "404"]
FEW = [PAGES[0], "chapters/01_attention", "search", "404"]
WAYS = [(width, dark) for dark in (False, True) for width in (1280, 390)]
LOCAL = ("file:", "data:", "blob:", "about:")

CONTRAST_OF_TEXT = f"""(() => {{{CONTRAST}
  const ink = channels(getComputedStyle(document.querySelector('main')).color);
  return contrast(light(ink), light(channels(getComputedStyle(document.body).backgroundColor)));
}})()"""


TOO_WIDE = """[...document.querySelectorAll("mjx-container[display=true]")]
  .filter(formula => formula.scrollWidth > formula.clientWidth + 1)
  .map(formula => formula.textContent.slice(0, 40))"""


CUT_OFF = """[...document.querySelectorAll("article table")]
  .filter(table => table.scrollWidth > table.parentElement.clientWidth + 1)
  .map(table => table.textContent.trim().slice(0, 40))"""


# Options such as --remove that break after a hyphen.
BROKEN_OPTIONS = """[...document.querySelectorAll("article code .pre")]
  .filter(word => word.textContent.startsWith("-") && word.getClientRects().length > 1)
  .map(word => word.textContent)"""


# Text of a figure that begins or ends outside its drawing.
CUT_LETTERS = """[...document.querySelectorAll("article svg.figure-drawing")].flatMap(drawing => {
  const {left, right, width} = drawing.getBoundingClientRect();
  return width && [...drawing.querySelectorAll("text")].filter(text => text.checkVisibility()).filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < left - 2 || box.right > right + 2;
  }).map(text => text.textContent.trim()) || [];
})"""


# Letters in a figure below 9 pixels, and its indices and exponents, which are 0.7 of the size around them, below 6.3.
SMALL_LETTERS = """(() => {
  const folds = [...document.querySelectorAll("article details:not([open])")].filter(fold => fold.querySelector("svg"));
  folds.forEach(fold => (fold.open = true));
  const size = part => parseFloat(getComputedStyle(part).fontSize);
  const small = [...document.querySelectorAll("article svg.figure-drawing text")].flatMap(text => {
    const {a, b} = text.getScreenCTM();
    const parts = [...text.querySelectorAll("tspan")].filter(part => !part.childElementCount);
    const largest = Math.max(...[text, ...parts].filter(part => parts.length === 0 || part !== text).map(size));
    return (parts.length ? parts : [text]).filter(part => part.textContent.trim())
      .map(part => [part.textContent, size(part) * Math.hypot(a, b), size(part) < largest])
      .filter(([_, pixels, isIndex]) => pixels < (isIndex ? 6.29 : 8.99))
      .map(([letters, pixels]) => `${letters}: ${pixels.toFixed(1)} in ${text.closest("svg").ariaLabel ?? "a panel"}`);
  });
  folds.forEach(fold => (fold.open = false));
  return small;
})()"""


# Formulas that are partly hidden by a box, and elements that scroll by only a few pixels.
CUT_ON_A_PHONE = """(() => {
  const over = box => box.scrollWidth - box.clientWidth;
  const hides = box => !["inline", "contents"].includes(getComputedStyle(box).display)
    && ["hidden", "clip"].includes(getComputedStyle(box).overflowX);
  const cut = [...document.querySelectorAll("article mjx-math")].filter(formula => {
    const right = formula.getBoundingClientRect().right;
    for (let box = formula.parentElement; box.tagName !== "ARTICLE"; box = box.parentElement)
      if (hides(box) && right > box.getBoundingClientRect().right + 1) return true;
  });
  const nearly = [...document.querySelectorAll(
    "article .pst-scrollable-table-container, article mjx-container[display=true], article .cell_output .output",
  )].filter(box => over(box) > 0 && over(box) < 16);
  return [...cut, ...nearly].map(box => (box.closest("p, li, figure, div") ?? box).textContent.slice(0, 60));
})()"""


@pytest.fixture(scope="module", params=thinned(PAGES, FEW, "the same for every page"))
def page(request):
    """Return each page in turn. The tests of one page follow each other, because opening a long page takes seconds."""
    return request.param


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_works_on_a_phone_without_a_network(laid_out, browser, page, dark):
    requested = laid_out(page, 390, dark)
    assert [url for url in requested if not url.startswith(LOCAL)] == []
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390, f"{page} scrolls sideways on a phone"
    assert browser.evaluate(TOO_WIDE) == [], "a formula to be broken into two lines"
    assert browser.evaluate(CUT_ON_A_PHONE) == []
    assert browser.evaluate(CONTRAST_OF_TEXT) > 7
    assert browser.evaluate(SMALL_LETTERS) == []


def test_axe_finds_nothing(laid_out, browser, page):
    """Test each page in one of four looks. The looks differ only in the theme, so six pages for each are enough."""
    laid_out(page, *WAYS[PAGES.index(page) % len(WAYS)])
    assert violations(browser) == []


def test_no_target_is_too_small_for_a_finger(laid_out, browser, page):
    laid_out(page, 390)
    assert small_targets(browser) == []


def test_a_page_works_on_a_desktop(laid_out, browser, page):
    requested = laid_out(page, 1280)
    assert [url for url in requested if "fontawesome" in url] == [], "icons for book/fonts/make.py"
    assert browser.evaluate("document.documentElement.scrollWidth") <= 1280
    assert browser.evaluate(CUT_OFF) == [], "a table to be made narrower"
    assert browser.evaluate(CUT_LETTERS) == [], "a text to be made shorter"
    assert browser.evaluate(BROKEN_OPTIONS) == []
    formulas = browser.evaluate("document.querySelectorAll('span.math, div.math').length")
    assert browser.evaluate("document.querySelectorAll('.math mjx-container').length") >= formulas
    assert browser.evaluate("document.querySelectorAll('mjx-merror, [data-mjx-error]').length") == 0
    broken = "[...document.images].filter(image => !image.complete || !image.naturalWidth).map(image => image.src)"
    assert browser.evaluate(broken) == []
    assert browser.evaluate("document.querySelectorAll('mjx-utext').length") == 0, "a sign that MathJax's fonts lack"
    assert browser.text_in_fonts_of_the_machine() == {}, "signs for book/fonts/make.py"


def test_the_rows_of_a_wide_table_keep_their_names_on_a_phone(laid_out, browser):
    laid_out("chapters/compared", 390)
    table = "[...document.querySelectorAll('table')].find(table => table.rows[0].cells.length > 5)"
    distance = f"""((box, cell) => {{
        box.scrollLeft = 100;
        return [box.scrollLeft, cell.getBoundingClientRect().left - box.getBoundingClientRect().left];
    }})({table}.parentElement, {table}.rows[3].cells[0])"""
    scrolled, left = browser.evaluate(distance)
    assert scrolled == 100 and 0 <= left < 2


@pytest.mark.thorough("the PDF is tested for split tables")
def test_on_paper_a_short_table_stays_on_one_page(html, browser):
    browser.open((html / "chapters" / "10_project.html").as_uri())
    browser.send("Emulation.setEmulatedMedia", media="print")
    breaks = "[...document.querySelectorAll('article table')].map(table => getComputedStyle(table).breakInside)"
    assert set(browser.evaluate(breaks)) == {"avoid"}
    browser.send("Emulation.setEmulatedMedia", media="")


def test_a_page_is_dark_from_its_first_paint_if_the_reader_prefers_dark(html, browser):
    browser.open((html / f"{PAGES[0]}.html").as_uri(), dark=True)
    assert browser.evaluate("document.documentElement.dataset.theme") == "dark"


def test_formulas_are_set_in_the_book_s_own_fonts(html, browser):
    requested = browser.open((html / "chapters" / "notation.html").as_uri())
    assert any("mathjax/output/chtml/fonts/woff-v2" in url for url in requested)
    loaded = "[...document.fonts].filter(font => font.status === 'loaded').map(font => font.family).join()"
    assert "MJX" in browser.evaluate(loaded)


def test_search_works_from_the_disk(html, browser):
    browser.open((html / "search.html").as_uri() + "?q=softmax")
    # Results appear one after another. The wait fails if the expected page never appears.
    browser.wait("[...document.querySelectorAll('#search-results li a')].some(a => a.href.includes('notation.html'))")


def test_formulas_far_below_the_window_are_laid_out_when_the_reader_comes_near(html, browser):
    page = (html / f"{FEW[1]}.html").as_uri()
    browser.open(page)
    skipped = """[...document.querySelectorAll("section > div.math mjx-container")]
      .filter(formula => !formula.checkVisibility({contentVisibilityAuto: true})).length"""
    browser.wait(f"{skipped} > document.querySelectorAll('section > div.math').length / 2")
    last = "[...document.querySelectorAll('section > div.math')].at(-1)"
    section = browser.evaluate(f"{last}.closest('section').id")
    browser.open(f"{page}#{section}")
    top = f"document.getElementById('{section}').getBoundingClientRect().top"
    browser.wait(f"0 <= {top} && {top} < 100")
    browser.evaluate(f"{last}.scrollIntoView({{behavior: 'instant'}})")
    browser.wait(f"{last}.querySelector('mjx-container').checkVisibility({{contentVisibilityAuto: true}})")


@pytest.mark.thorough("the test on a phone looks for formulas that a box hides")
def test_a_formula_s_box_hides_no_part_of_it(html, browser):
    """The bar of a transpose extends beyond its letter's box. With visible overflow the picture must be the same."""
    browser.open((html / "chapters" / "02_backward.html").as_uri())
    browser.lay_out()  # so that no formula moves by a part of a pixel
    formulas = "[...document.querySelectorAll('mjx-container[display=true]:has(.mjx-c22A4)')]"

    def picture(number):
        browser.evaluate(f"{formulas}[{number}].scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = "{x: b.x + scrollX, y: b.y + scrollY - 6, width: b.width, height: b.height + 12, scale: 1}"
        clip = browser.evaluate(f"(b => ({box}))({formulas}[{number}].getBoundingClientRect())")
        return browser.send("Page.captureScreenshot", format="png", clip=clip)["data"]

    count = browser.evaluate(f"{formulas}.length")
    assert count >= 5
    cut = [picture(number) for number in range(count)]
    browser.evaluate(f"{formulas}.forEach(f => f.style.overflow = 'visible')")
    assert [picture(number) for number in range(count)] == cut
