"""Actions for the tests of all explorers: drag, move a slider, press a button, check that all text is readable."""

import shutil

import numpy as np

from tests.book.conftest import build_book, make_little_book, page
from tests.browsers.contrast import PALE

KEYS = np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, -1.0]])  # the keys of Ada, Tom and the ball
VALUES = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
STATUS = "document.querySelector('.explorer-status').textContent"
UNNAMED = """[...document.querySelectorAll('.explorer :is(input, button, select)')].filter(
    control => !(control.ariaLabel || control.labels?.[0]?.textContent.trim() || control.textContent.trim())).length"""
WORDLESS = """[...document.querySelectorAll('.explorer thead tr > *, .explorer th')].filter(
    heading => heading.tagName !== 'TH' || !heading.textContent.trim()).length"""
LEGIBLE = f"(([count, ...pale]) => count > 20 && !pale.length)({PALE}('.explorer *'))"


def built_explorer(folder, text, *files):
    """Build a little book in a folder, with these files beside its page, and return the URL of the page."""
    make_little_book(folder)
    for file in files:
        shutil.copy(file, folder / "chapters")
    page(folder, text=text)
    build_book(folder)
    return (folder / "_build" / "html" / "chapters" / "01_attention.html").as_uri()


def opened_explorer(folder, browser, text, *files):
    """Build a little book, see `built_explorer`, and return the tab that shows its page."""
    url = built_explorer(folder, text, *files)
    browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
    browser.open(url)
    return browser


def drag(tab, element, *points):
    """Press the mouse at the first point of an element, move over the other points, and release.

    The upper left corner of the element is (0, 0), the lower right corner is (1, 1).
    """
    element = f"document.querySelectorAll('{element[0]}')[{element[1]}]"
    tab.scroll_to(element)
    x, y, width, height = tab.evaluate(
        f"(box => [box.x, box.y, box.width, box.height])({element}.getBoundingClientRect())"
    )
    kinds = ["mousePressed", *["mouseMoved"] * (len(points) - 1), "mouseReleased"]
    for kind, (across, down) in zip(kinds, [*points, points[-1]], strict=True):
        position = {"x": min(x + across * width, 1279), "y": y + down * height}
        tab.send("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, **position)


def reads_well(tab):
    """Check that each control and each table heading has a name, and that all text has enough contrast."""
    assert tab.evaluate(UNNAMED) == tab.evaluate(WORDLESS) == 0
    for dark in (True, False):
        tab.prefer(dark)
        tab.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
        tab.wait(LEGIBLE)
    return True


def move(tab, number, value):
    """Move a slider, as the arrow keys do."""
    tab.evaluate(f"""(slider => {{ slider.value = {value}; slider.dispatchEvent(new Event("input")) }})(
        document.querySelectorAll('.explorer input[type=range]')[{number}])""")


def press_button(tab, name):
    tab.evaluate(
        f"[...document.querySelectorAll('.explorer-presets button')].find(b => b.textContent === '{name}').click()"
    )
