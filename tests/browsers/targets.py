"""Find the targets of a page that are too small: WCAG 2.2, success criterion 2.5.8, which axe-core 4.4 cannot test.

A target must be 24 x 24 CSS pixels. The criterion excuses a link in a sentence, a control that the browser draws, and a
small target that has room: a circle of 24 pixels around its middle touches no other target, and no such circle.
"""

import json

SMALL = r"""((least, excuseRoom) => {
  const WANTED = "a[href], button, input, select, textarea, summary, [role=button], [role=tab], [role=switch]";
  const folds = [...document.querySelectorAll("details:not([open])")];
  for (const fold of folds) fold.open = true;

  const isShown = element => element.checkVisibility({visibilityProperty: true, opacityProperty: true})
    && !element.closest("[inert], mjx-assistive-mml") && element.getBoundingClientRect().width > 1;
  const targets = [...document.querySelectorAll(WANTED)].filter(isShown).map(element => {
    // A link of several lines has several boxes. The largest one counts.
    const [box] = [...element.getClientRects()].sort((a, b) => b.width * b.height - a.width * a.height);
    return {element, box, x: box.x + box.width / 2, y: box.y + box.height / 2};
  });
  const isSmall = ({box}) => Math.min(box.width, box.height) < least - 0.01;

  // Whether other text in its line sets the height of an inline link.
  function isInSentence({element}) {
    const isInline = part => /^(inline|contents)/.test(getComputedStyle(part).display);
    if (getComputedStyle(element).display !== "inline") return false;
    let block = element.parentElement;
    while (isInline(block)) block = block.parentElement;
    const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (/[\p{Letter}\p{Number}]/u.test(text.data) && !text.parentElement.closest(WANTED)) return true;
    }
    return false;
  }

  const isDrawnByBrowser = ({element}) => element.matches("[type=checkbox], [type=radio]")
    && getComputedStyle(element).appearance === "auto";

  function touches({element, x, y}, other) {
    if (other.element.contains(element) || element.contains(other.element)) return false;
    if (isSmall(other)) return Math.hypot(other.x - x, other.y - y) < least;
    const {left, right, top, bottom} = other.box;
    return Math.hypot(Math.max(left - x, x - right, 0), Math.max(top - y, y - bottom, 0)) < least / 2;
  }

  const small = targets.filter(target => isSmall(target) && !isInSentence(target) && !isDrawnByBrowser(target))
    .filter(target => !excuseRoom || targets.some(other => touches(target, other)));
  for (const fold of folds) fold.open = false;
  return small.map(({element, box}) =>
    `${Math.round(box.width)} x ${Math.round(box.height)}: ${element.outerHTML.slice(0, 120)}`);
})"""


def small_targets(browser, excuse_room=True):
    """Return the size and the element of each target of the open page that is too small, with all folds open.

    Args:
        browser: a Tab with an open page.
        excuse_room: whether a small target with enough room around it is good.
    """
    return browser.evaluate(f"{SMALL}(24, {json.dumps(excuse_room)})")
