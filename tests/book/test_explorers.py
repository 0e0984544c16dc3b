"""Explorers: they show what the chapter computes, answer to mouse and keyboard, and are silent where no script runs."""

import math

import explorers
import numpy as np
import pytest
from docutils.core import publish_doctree
from docutils.parsers.rst import directives

from autograder.chapter.plain_markdown import DIRECTIVES

pytestmark = pytest.mark.book

KEYS = np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, -1.0]])  # Ada, Tom, the ball
VALUES = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
ROWS = "[...document.querySelectorAll('.explorer tbody tr')].map(row => row.cells[{cell}].textContent)"
SAID = "document.querySelector('.explorer-said').textContent"


@pytest.fixture
def opened(html, browser):
    def opened(chapter):
        browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
        browser.open((html / "chapters" / f"{chapter}.html").as_uri())
        return browser

    return opened


@pytest.fixture
def tab(opened):
    return opened("01_attention")


def expected(query, divided=True):
    strengths = np.exp(KEYS @ query / (math.sqrt(2) if divided else 1))
    weights = strengths / strengths.sum()
    return [f"{weight:.2f}" for weight in weights], [f"{n:.2f}".replace("-", "−") for n in weights @ VALUES]


def shows(tab, query, divided=True):
    weights, found = expected(np.array(query), divided)
    tab.wait(f"JSON.stringify({ROWS.format(cell=2)}) === JSON.stringify({weights})")
    return f"finds ({', '.join(found)})" in tab.evaluate(SAID)


def move(tab, number, value):
    """A slider, as the arrow keys move it."""
    tab.evaluate(f"""(slider => {{ slider.value = {value}; slider.dispatchEvent(new Event("input")) }})(
        document.querySelectorAll('.explorer input[type=range]')[{number}])""")


def test_it_begins_with_the_query_of_the_text_and_computes_what_the_chapter_does(tab):
    assert shows(tab, (1, 1))
    assert tab.evaluate(ROWS.format(cell=1)) == ["0.00", "1.41", "−0.71"]
    move(tab, 0, -2.5)
    move(tab, 1, 0.5)
    assert shows(tab, (-2.5, 0.5))
    tab.evaluate("document.querySelector('.explorer input[type=checkbox]').click()")
    assert shows(tab, (-2.5, 0.5), divided=False)
    assert not tab.exceptions()


def test_the_arrow_is_dragged(tab):
    corner = """(svg => { svg.scrollIntoView({block: "center"}); const {left, top, width} = svg.getBoundingClientRect();
      return [left, top, width / 7.2] })(document.querySelector('.explorer svg'))"""
    left, top, unit = tab.evaluate(corner)
    for kind, x, y in (("mousePressed", 1, 1), ("mouseMoved", 0, 1), ("mouseMoved", 9, -2), ("mouseReleased", 9, -2)):
        place = {"x": min(left + (x + 3.6) * unit, 1279), "y": top + (3.6 - y) * unit}
        tab.send("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, **place)
    assert shows(tab, (3, -2))  # as far as it reaches


def test_every_control_has_a_name_and_answers_to_the_keyboard(tab):
    named = """[...document.querySelectorAll('.explorer input, .explorer button')].every(
        each => each.labels?.[0]?.textContent.trim() || each.textContent.trim())"""
    assert tab.evaluate(named)
    tab.evaluate("document.querySelectorAll('.explorer button')[1].focus()")
    tab.press("Enter")
    assert shows(tab, (0, -1))
    tab.evaluate("document.querySelector('.explorer input[type=range]').focus()")
    tab.press("ArrowRight")
    assert shows(tab, (0.1, -1))


# ------------------------------------------------------------------------------------------------- masks

LEAKS = "[...document.querySelectorAll('.explorer-grid button')].map(each => each.className)"


def known(mask, layers):
    """What each place depends on: what it is itself, and what those it attends to depended on one layer below."""
    return np.linalg.matrix_power((mask | np.eye(6, dtype=bool)).astype(int), layers) > 0


def paints(tab, mask, layers):
    reached = known(mask, layers)
    leaks = reached & ~np.tri(6, dtype=bool)
    how = np.where(mask, "may", np.where(reached, "through", "hidden"))
    classes = [f"{name} leak" if leak else str(name) for name, leak in zip(how.flat, leaks.flat, strict=True)]
    tab.wait(f"JSON.stringify({LEAKS}) === JSON.stringify({classes})")
    count = leaks.sum()
    return tab.evaluate(SAID).startswith(f"{count} leak" if count else "Tight")


def press_button(tab, name):
    tab.evaluate(
        f"[...document.querySelectorAll('.explorer-presets button')].find(b => b.textContent === '{name}').click()"
    )


def test_a_mask_shows_what_leaks_through_so_many_layers(opened):
    tab = opened("03_masking")
    causal, places = np.tri(6, dtype=bool), np.arange(6)
    peek = causal.copy()
    peek[1, 5] = True
    far = places[:, None] + 1 >= places
    for name, mask in (("causal", causal), ("one peek", peek), ("one word too far", far), ("no mask", causal | True)):
        press_button(tab, name)
        for layers in (1, 2, 5):
            move(tab, 0, layers)
            assert paints(tab, mask, layers), (name, layers)
    assert not tab.exceptions()


def test_a_mask_is_painted_with_the_pointer_and_from_the_keyboard(opened):
    tab = opened("03_masking")
    mask = np.tri(6, dtype=bool)
    tab.evaluate("document.querySelector('.explorer-grid').scrollIntoView({block: 'center'})")
    for kind, cell in (("mousePressed", 2), ("mouseMoved", 3), ("mouseReleased", 3)):  # of the first row
        place = tab.evaluate(f"""(box => ({{x: box.x + box.width / 2, y: box.y + box.height / 2}}))(
            document.querySelectorAll('.explorer-grid button')[{cell}].getBoundingClientRect())""")
        tab.send("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, **place)
    mask[0, 2:4] = True
    assert paints(tab, mask, 1)
    tab.evaluate("document.querySelector('.explorer-grid button[tabindex=\"0\"]').focus()")
    tab.press("ArrowRight")
    tab.press(" ")
    mask[0, 1] = True
    assert paints(tab, mask, 1)
    said = tab.evaluate("document.activeElement.ariaLabel")
    assert said == "<bos> asks, Ada is found: may attend, a leak"


def test_without_a_script_and_in_a_notebook_there_is_nothing_to_see(html):
    page = (html / "chapters" / "01_attention.html").read_text(encoding="utf-8")
    assert '<div class="explorer" data-explorer="query" hidden>' in page and "explore-query.js" in page
    assert "explore" not in (html / "chapters" / "02_backward.html").read_text(encoding="utf-8")
    assert DIRECTIVES["explorer"](None, None) == ""


def test_a_name_that_no_script_has_is_an_error():
    directives.register_directive("explorer", explorers.Explorer)
    page = publish_doctree(".. explorer:: nobody", settings_overrides={"report_level": 5})
    assert "there is no explorer 'nobody'" in page.astext()
