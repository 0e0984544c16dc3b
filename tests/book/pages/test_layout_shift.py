"""A page stays still while it loads: its layout shift is below 0.1, which https://web.dev/articles/cls calls good."""

import pytest

from book.serve import serving
from tests.book.pages.test_browser import PAGES
from tests.choosing import thinned

pytestmark = pytest.mark.book

FEW = ["chapters/02_backward", "chapters/05_residual", "chapters/exercises", "chapters/progress"]
OBSERVE = """window.shifts = [];
new PerformanceObserver(list => {
  for (const {value, sources} of list.getEntries())
    window.shifts.push({value, moved: sources.map(({node}) => node?.textContent.trim().slice(0, 40))});
}).observe({type: "layout-shift", buffered: true});"""
HAS_MODULES = "!!document.querySelector('#live-exercises') && !document.querySelector('table.exercises')"
AT_REST = """(async () => {
  await document.fonts.ready;
  for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame);
})()"""


@pytest.fixture(scope="module")
def site(html):
    with serving(html) as address:
        yield address


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", thinned(PAGES, FEW, "the same for every page"))
def test_a_page_stays_still_while_it_loads(site, browser, page, width):
    browser.send("Network.setCacheDisabled", cacheDisabled=True)
    with browser.before_each_page(OBSERVE):
        browser.open(f"{site}/{page}.html", width=width)
        if browser.evaluate(HAS_MODULES):
            browser.wait("document.documentElement.classList.contains('live-on')")
        browser.evaluate(AT_REST)
    browser.send("Network.setCacheDisabled", cacheDisabled=False)
    shifts = browser.evaluate("window.shifts")
    assert sum(shift["value"] for shift in shifts) < 0.1, shifts
