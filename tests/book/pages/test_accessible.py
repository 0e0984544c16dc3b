"""The theme's buttons work with a screen reader, voice control or only a keyboard. test_browser runs axe-core."""

import pytest

from tests.book.pages.test_browser import PAGES
from tests.browsers.axe import violations

pytestmark = pytest.mark.book


def test_icons_lose_their_titles_in_any_order_of_the_scripts(html, browser):
    """In Firefox the theme's script often replaces the icons with images before our script looks for titles."""
    browser.open((html / f"{PAGES[1]}.html").as_uri())
    shown = '<svg class="theme-switch" data-mode="auto" role="img" aria-labelledby="t"><title id="t">Auto</title></svg>'
    browser.evaluate(f"document.querySelector('.theme-switch[data-mode=auto]').outerHTML = {shown!r}")
    assert violations(browser) != [], "or axe does not see it, and this test tells nothing"
    browser.evaluate((html / "_static" / "accessible.js").read_text(encoding="utf-8"))
    assert violations(browser) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("button", [".theme-switch-button", ".primary-toggle"])
def test_a_pressed_button_keeps_the_focus(html, browser, width, button):
    browser.open((html / f"{PAGES[1]}.html").as_uri(), width=width)
    browser.evaluate(f"document.querySelector({button!r}).focus()")
    browser.press("Enter")
    browser.evaluate("new Promise(done => setTimeout(done, 300))")  # the theme moves the focus after a moment
    focus = browser.evaluate(
        f"document.activeElement.matches({button!r}) ? 'kept' : document.activeElement.closest('dialog') && 'opened'"
    )
    browser.evaluate("localStorage.clear()")  # so that other tests do not get the chosen colours
    assert focus == ("opened" if width == 390 and button == ".primary-toggle" else "kept")
