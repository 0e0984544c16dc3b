"""Whoever hears a page, speaks to it or moves in it by keyboard: the theme's buttons. test_browser has axe-core."""

import pytest

from tests.book.pages.test_browser import PAGES
from tests.browsers.axe import violations

pytestmark = pytest.mark.book


def test_icons_lose_their_titles_whoever_comes_first(html, browser):
    """In Firefox the theme's script has often made images of them by the time that ours looks for titles."""
    browser.open((html / f"{PAGES[1]}.html").as_uri())
    shown = '<svg class="theme-switch" data-mode="auto" role="img" aria-labelledby="t"><title id="t">Auto</title></svg>'
    browser.evaluate(f"document.querySelector('.theme-switch[data-mode=auto]').outerHTML = {shown!r}")
    assert violations(browser) != [], "or axe does not see it, and this test tells nothing"
    browser.evaluate((html / "_static" / "accessible.js").read_text(encoding="utf-8"))
    assert violations(browser) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("button", [".theme-switch-button", ".primary-toggle"])
def test_no_button_loses_the_focus(html, browser, width, button):
    browser.open((html / f"{PAGES[1]}.html").as_uri(), width=width)
    browser.evaluate(f"document.querySelector({button!r}).focus()")
    browser.press("Enter")
    browser.evaluate("new Promise(done => setTimeout(done, 300))")  # the theme takes it a moment later
    where = browser.evaluate(
        f"document.activeElement.matches({button!r}) ? 'there' : document.activeElement.closest('dialog') && 'opened'"
    )
    browser.evaluate("localStorage.clear()")  # which light was chosen is no other test's business
    assert where == ("opened" if width == 390 and button == ".primary-toggle" else "there")
