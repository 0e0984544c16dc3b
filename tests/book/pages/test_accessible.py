"""The theme's buttons work with a screen reader, voice control or only a keyboard. test_browser runs axe-core."""

import pytest

from tests.book.pages.test_browser import PAGES

pytestmark = pytest.mark.book


def test_icons_are_for_the_eye_alone(html, browser):
    """An icon is a character that a screen reader would try to read. Its title would name its button a second time."""
    browser.open((html / f"{PAGES[1]}.html").as_uri())
    assert browser.evaluate("document.querySelectorAll('.fa-solid').length") >= 8
    exposed = "document.querySelectorAll('.fa-solid[title], .fa-solid:not([aria-hidden=true])').length"
    assert browser.evaluate(exposed) == 0


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
