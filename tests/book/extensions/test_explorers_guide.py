"""Every explorer says what to do above its picture, shows where to grab, and has sliders in the colours of the book."""

import base64
import io

import matplotlib.image
import numpy as np
import pytest

from tests.book.extensions.explorer import drag
from tests.choosing import thinned

pytestmark = pytest.mark.book

COLOURS = pytest.mark.parametrize("dark", thinned([False, True], [True], "the other colours"), ids=["light", "dark"])
PAGES = ("01_attention", "02_backward", "03_masking", "05_residual", "06_position", "09_training", "10_project")
TASK = "document.querySelector('.explorer > .explorer-task')"
ABOVE = f"""{TASK}.getBoundingClientRect().bottom <=
    document.querySelector('.explorer-stage').getBoundingClientRect().top"""
HINTS = "document.querySelectorAll('.explorer .hint').length"
SLIDER = "document.querySelector('.explorer input[type=range]')"
ACCENT = "getComputedStyle(document.querySelector('.explorer-presets button')).color"
# The upper left corner of each head's map, relative to the first one.
CORNERS = """(corners => corners.map(([x, y]) => [x - corners[0][0], y - corners[0][1]]))(
    [...document.querySelectorAll('.explorer-map')].map(map => (box => [box.x, box.y])(map.getBoundingClientRect())))"""


@pytest.mark.parametrize("chapter", thinned(PAGES, ["06_position"], "the same for every explorer"))
def test_an_explorer_says_above_its_picture_what_to_do(opened, chapter):
    tab = opened(chapter)
    first = tab.evaluate(f"{TASK}.textContent").split()[0]
    assert first in ("Click", "Drag", "Press", "Type") and tab.evaluate(ABOVE)
    assert tab.evaluate("document.querySelector('.explorer > .explorer-caption').textContent.trim().length") > 50


@pytest.mark.parametrize("chapter", thinned(["01_attention", "06_position"], ["06_position"], "another explorer"))
def test_a_hint_shows_where_to_drag_until_the_reader_drags(opened, browser, chapter):
    browser.open("about:blank")  # another test may have dragged something in this page
    tab = opened(chapter)
    assert tab.evaluate(HINTS) == 1
    handle = "document.querySelector('.explorer .handle')"
    assert tab.evaluate(f"getComputedStyle({handle}).cursor") == "grab"
    assert tab.evaluate(f"{handle}.getBoundingClientRect().width") > 15
    drag(tab, (".explorer svg", 0), (0.5, 0.1), (0.8, 0.2))
    assert tab.evaluate(HINTS) == 0
    assert not tab.exceptions()


def colour(tab, across):
    """Return the red, green and blue of the first slider's pixel at a distance from its left end, at half height."""
    tab.scroll_to(SLIDER)
    x, y = tab.evaluate(f"(box => [box.x, box.y + box.height / 2])({SLIDER}.getBoundingClientRect())")
    shot = tab.send("Page.captureScreenshot", format="png")["data"]
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(shot)))
    return np.round(255 * pixels[int(y), int(x + across), :3]).tolist()


def luminance(pixel):
    """Return the relative luminance of a colour, as WCAG 2.2 defines it."""
    parts = np.array(pixel) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.thorough("its focus is tested in these colours")
@COLOURS
@pytest.mark.parametrize(
    "chapter", thinned(["01_attention", "03_masking", "06_position"], ["06_position"], "another explorer")
)
def test_a_slider_has_the_colours_of_the_book(laid_out, browser, chapter, dark):
    laid_out(f"chapters/{chapter}", 1280, dark)
    browser.evaluate(f"{SLIDER}.value = {SLIDER}.min")
    accent = [float(part) for part in browser.evaluate(ACCENT)[4:-1].split(",")]
    assert colour(browser, 12) == accent, "the middle of the thumb, which is 24 pixels wide"
    assert browser.evaluate(f"{SLIDER}.offsetHeight") >= 24
    track, page = luminance(colour(browser, 100)), luminance(colour(browser, -8))
    assert (max(track, page) + 0.05) / (min(track, page) + 0.05) > 3


@COLOURS
def test_a_slider_shows_the_focus(laid_out, browser, dark):
    browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
    laid_out("chapters/03_masking", 1280, dark)
    browser.evaluate(f"{SLIDER}.focus({{focusVisible: true}})")
    outline = f"[style.outlineStyle, style.outlineWidth, style.outlineColor === {ACCENT}]"
    assert browser.evaluate(f"(style => {outline})(getComputedStyle({SLIDER}))") == ["solid", "3px", True]


@pytest.mark.parametrize(
    "width, columns", [(1280, 2), pytest.param(390, 1, marks=pytest.mark.thorough("another width"))]
)
def test_four_heads_stand_in_a_square_or_below_each_other(laid_out, browser, width, columns):
    laid_out("chapters/09_training", width)
    (_, second, third, fourth) = browser.evaluate(CORNERS)
    if columns == 2:
        assert (
            second[0] > 200 and second[1] == 0 and third[0] == 0 and third[1] > 100 and fourth == [second[0], third[1]]
        )
    else:
        assert [second[0], third[0], fourth[0]] == [0, 0, 0] and 0 < second[1] < third[1] < fourth[1]
