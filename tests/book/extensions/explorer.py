"""What the tests of all explorers do: drag, move a slider, press a button, ask whether all can be read."""

import numpy as np

KEYS = np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, -1.0]])  # Ada, Tom, the ball
VALUES = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
SAID = "document.querySelector('.explorer-status').textContent"
UNNAMED = """[...document.querySelectorAll('.explorer :is(input, button, select)')].filter(
    each => !(each.ariaLabel || each.labels?.[0]?.textContent.trim() || each.textContent.trim())).length"""
WORDLESS = """[...document.querySelectorAll('.explorer thead tr > *, .explorer th')].filter(
    each => each.tagName !== 'TH' || !each.textContent.trim()).length"""
PALE = """(() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const light = colour => colour.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const paper = each => {
    const [r, g, b, alpha = 1] = channels(getComputedStyle(each).backgroundColor);
    const below = alpha < 1 ? paper(each.parentElement) : [0, 0, 0];
    return [r, g, b].map((c, i) => alpha * c + (1 - alpha) * below[i]);
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const written = [...document.querySelectorAll('.explorer *')].filter(
    each => [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim()));
  const ink = each => channels(getComputedStyle(each)[each instanceof SVGElement ? "fill" : "color"]);
  const pale = written.filter(each => contrast(light(ink(each)), light(paper(each))) < 4.5);
  return [written.length > 20, ...pale.map(each => each.outerHTML)];
})()"""


def drag(tab, element, *places):
    """Press on the first place of an element, go over the others, let go; a place is a share of its box, each way."""
    tab.evaluate(f"document.querySelectorAll('{element[0]}')[{element[1]}].scrollIntoView({{block: 'center'}})")
    x, y, width, height = tab.evaluate(f"""(box => [box.x, box.y, box.width, box.height])(
        document.querySelectorAll('{element[0]}')[{element[1]}].getBoundingClientRect())""")
    kinds = ["mousePressed", *["mouseMoved"] * (len(places) - 1), "mouseReleased"]
    for kind, (across, down) in zip(kinds, [*places, places[-1]], strict=True):
        place = {"x": min(x + across * width, 1279), "y": y + down * height}
        tab.send("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, **place)


def reads_well(tab):
    """Every control and every head of a table has a name, and every word stands out from its ground."""
    assert tab.evaluate(UNNAMED) == tab.evaluate(WORDLESS) == 0
    for dark in (True, False):
        tab.prefer(dark)
        tab.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
        tab.wait(f"JSON.stringify({PALE}) === '[true]'", seconds=5)
    return True


def move(tab, number, value):
    """A slider, as the arrow keys move it."""
    tab.evaluate(f"""(slider => {{ slider.value = {value}; slider.dispatchEvent(new Event("input")) }})(
        document.querySelectorAll('.explorer input[type=range]')[{number}])""")


def press_button(tab, name):
    tab.evaluate(
        f"[...document.querySelectorAll('.explorer-presets button')].find(b => b.textContent === '{name}').click()"
    )
