"""Whoever hears a page, speaks to it or moves in it by keyboard: axe-core on every page, and the theme's buttons."""

import json
from importlib.resources import files

import axe_core_python
import pytest

from tests.book.test_browser import PAGES

pytestmark = pytest.mark.book

AXE = (files(axe_core_python) / "axe.min.js").read_text(encoding="utf-8")
# All that axe-core has on by itself, but for what is slow and held by other tests, and what axe has given up since; and
# one that it calls an experiment.
OFF, ON = ("color-contrast", "duplicate-id"), ("label-content-name-mismatch",)
RULES = json.dumps({rule: {"enabled": rule in ON} for rule in (*OFF, *ON)})
WAYS = [(width, dark) for dark in (False, True) for width in (1280, 390)]


def violations(browser):
    """What axe-core finds on the open page, with every fold open: rule and element, for each."""
    browser.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    browser.evaluate(f"{AXE}; 1")
    return browser.evaluate(
        f"""axe.run(document, {{rules: {RULES}, resultTypes: ['violations']}}).then(found =>
        found.violations.flatMap(({{id, nodes}}) => nodes.map(({{html}}) => `${{id}}: ${{html.slice(0, 150)}}`)))
    """.replace("True", "true").replace("False", "false")
    )


# Each page in one of the four ways, and each way on six pages: what differs between ways comes with the theme.
@pytest.mark.parametrize("page, way", [(page, WAYS[n % 4]) for n, page in enumerate(PAGES)])
def test_axe_finds_nothing(html, browser, page, way):
    width, dark = way
    browser.open((html / f"{page}.html").as_uri(), width=width, dark=dark)
    assert violations(browser) == []


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
