/* Copy a formula as its TeX: `$...$` in a line, `$$...$$` by itself. A program that reads HTML gets the MathML. */

"use strict";

(() => {
  const FORMULA = "mjx-container[data-tex]";

  /** Returns the selected range, extended to whole formulas at both ends. */
  function withWholeFormulas(range) {
    const whole = range.cloneRange();
    const formulaAt = (node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement).closest(FORMULA);
    const [first, last] = [range.startContainer, range.endContainer].map(formulaAt);
    if (first) whole.setStartBefore(first);
    if (last) whole.setEndAfter(last);
    return whole;
  }

  function inTeX(formula) {
    const marks = formula.getAttribute("display") === "true" ? "$$" : "$";
    return marks + formula.dataset.tex + marks;
  }

  /** Returns the text of selected elements as the browser would copy it, which depends on their layout. */
  function plainText(content) {
    const box = document.createElement("div");
    box.style.cssText = "position: fixed; left: -99999px; white-space: normal;";
    box.append(content);
    document.body.append(box);
    const text = box.innerText;
    box.remove();
    return text;
  }

  document.addEventListener("copy", (event) => {
    const selection = getSelection();
    if (selection.isCollapsed) return;
    const content = withWholeFormulas(selection.getRangeAt(0)).cloneContents();
    const formulas = [...content.querySelectorAll(FORMULA)];
    if (!formulas.length) return;
    const box = document.createElement("div");
    box.append(content.cloneNode(true));
    box.querySelectorAll(FORMULA).forEach((formula) => formula.replaceWith(formula.querySelector("math")));
    event.clipboardData.setData("text/html", box.innerHTML);
    formulas.forEach((formula) => formula.replaceWith(inTeX(formula)));
    event.clipboardData.setData("text/plain", plainText(content));
    event.preventDefault();
  });
})();
