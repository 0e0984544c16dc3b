"""Find text that is hard to read against its background."""

import json

# JavaScript: the channels of a colour, how light it is, the background of an element, and a contrast.
CONTRAST = """
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const light = colour => colour.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const background = element => {
    const [r, g, b, alpha = 1] = channels(getComputedStyle(element).backgroundColor);
    const below = alpha < 1 ? background(element.parentElement) : [0, 0, 0];
    return [r, g, b].map((c, i) => alpha * c + (1 - alpha) * below[i]);
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
"""
# All text needs a contrast of 4.5:1: https://www.w3.org/TR/WCAG22/#contrast-minimum
PALE = (
    "(selector => {"
    + CONTRAST
    + """
  const written = [...document.querySelectorAll(selector)].filter(
    element => [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim()));
  const ink = element => channels(getComputedStyle(element)[element instanceof SVGElement ? "fill" : "color"]);
  const pale = written.filter(element => contrast(light(ink(element)), light(background(element))) < 4.5);
  return [written.length, ...pale.map(element => element.outerHTML)];
})"""
)


def pale(browser, selector):
    """Return the HTML of the elements that match a selector and whose text has too little contrast."""
    count, *elements = browser.evaluate(f"{PALE}({json.dumps(selector)})")
    assert count > 0, "nothing was compared"
    return elements
