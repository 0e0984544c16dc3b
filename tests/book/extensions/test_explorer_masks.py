"""Chapter 3: the reader paints masks, and the page computes what leaks through several layers."""

import numpy as np
import pytest

from tests.book.extensions.explorer import STATUS, move, press_button, reads_well

pytestmark = pytest.mark.book

LEAKS = "[...document.querySelectorAll('.explorer-grid button')].map(button => button.className)"


def known(mask, layers):
    """Return which inputs each position depends on after some layers.

    A position depends on itself, and on what its visible positions depended on one layer below.
    """
    return np.linalg.matrix_power((mask | np.eye(6, dtype=bool)).astype(int), layers) > 0


def paints(tab, mask, layers):
    reached = known(mask, layers)
    leaks = reached & ~np.tri(6, dtype=bool)
    how = np.where(mask, "may", np.where(reached, "through", "hidden"))
    classes = [f"{name} leak" if leak else str(name) for name, leak in zip(how.flat, leaks.flat, strict=True)]
    tab.wait(f"JSON.stringify({LEAKS}) === JSON.stringify({classes})")
    count = leaks.sum()
    return tab.evaluate(STATUS).startswith(f"{count} leak" if count else "Tight")


def causal(tab):
    press_button(tab, "causal")
    move(tab, 0, 1)
    return tab


def test_a_mask_shows_what_leaks_through_several_layers(opened):
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
    assert reads_well(tab)
    assert not tab.exceptions()


def test_a_mask_is_painted_with_the_pointer_and_from_the_keyboard(opened):
    tab = causal(opened("03_masking"))
    mask = np.tri(6, dtype=bool)
    tab.scroll_to("document.querySelector('.explorer-grid')")
    for kind, cell in (("mousePressed", 2), ("mouseMoved", 3), ("mouseReleased", 3)):  # cells of the first row
        position = tab.evaluate(f"""(box => ({{x: box.x + box.width / 2, y: box.y + box.height / 2}}))(
            document.querySelectorAll('.explorer-grid button')[{cell}].getBoundingClientRect())""")
        tab.send("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, **position)
    mask[0, 2:4] = True
    assert paints(tab, mask, 1)
    tab.evaluate("document.querySelector('.explorer-grid button[tabindex=\"0\"]').focus()")
    tab.press("ArrowRight")
    tab.press(" ")
    mask[0, 1] = True
    assert paints(tab, mask, 1)
    label = tab.evaluate("document.activeElement.ariaLabel")
    assert label == "<bos> asks, Ada is found: may attend, a leak"


def test_assistive_technology_paints_by_a_click_and_the_right_button_does_not_paint(opened):
    tab = causal(opened("03_masking"))
    mask = np.tri(6, dtype=bool)
    cell = "document.querySelectorAll('.explorer-grid button')[2]"
    tab.scroll_to("document.querySelector('.explorer-grid')")
    position = tab.evaluate(f"(box => ({{x: box.x + 9, y: box.y + 9}}))({cell}.getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        tab.send("Input.dispatchMouseEvent", type=kind, button="right", buttons=2, clickCount=1, **position)
    assert paints(tab, mask, 1)
    tab.evaluate(f"{cell}.click()")
    mask[0, 2] = True
    assert paints(tab, mask, 1)


def test_a_cancelled_pointer_stops_painting(opened):
    """When a phone scrolls instead, it sends no pointerup, and the next pointer to pass would go on painting."""
    tab = causal(opened("03_masking"))
    tab.scroll_to("document.querySelector('.explorer-grid')")
    first, second = (
        tab.evaluate(f"""(box => ({{x: box.x + box.width / 2, y: box.y + box.height / 2}}))(
            document.querySelectorAll('.explorer-grid button')[{cell}].getBoundingClientRect())""")
        for cell in (2, 4)
    )
    tab.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[first])
    tab.send("Input.dispatchTouchEvent", type="touchCancel", touchPoints=[])
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", **second)
    mask = np.tri(6, dtype=bool)
    mask[0, 2] = True
    assert paints(tab, mask, 1)
