/* The index of mistakes: closes the folds that the page is written with, filters as one types, and opens the fold of
   the mistake in the address. Paper gets everything. */

"use strict";

(() => {
  const folds = [...document.querySelectorAll("details.mistakes")].map((element) => ({
    element,
    name: element.querySelector("summary code").textContent.toLowerCase(),
    mistakes: [...element.querySelectorAll(".mistake")].map((mistake) => ({
      element: mistake,
      text: mistake.textContent.toLowerCase(),
    })),
  }));
  if (!folds.length) return;
  const sections = [...new Set(folds.map((fold) => fold.element.closest("section")))];
  const all = folds.flatMap((fold) => fold.mistakes).length;

  const box = document.createElement("div");
  box.className = "mistakes-filter";
  const label = document.createElement("label");
  label.textContent = "Show the mistakes that have these words";
  label.htmlFor = "mistakes-words";
  const field = document.createElement("input");
  Object.assign(field, { type: "search", id: label.htmlFor, autocomplete: "off", spellcheck: false });
  const told = document.createElement("p");
  told.setAttribute("role", "status");
  box.append(label, field, told);
  sections[0].before(box);

  /** A mistake stays if it, or the name of its exercise, has all the words. */
  function filter() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const fold of folds) {
      let own = 0;
      for (const { element, text } of fold.mistakes) {
        const stays = words.every((word) => text.includes(word) || fold.name.includes(word));
        element.hidden = !stays;
        own += stays;
      }
      fold.element.hidden = own === 0;
      fold.element.open = words.length > 0 && own > 0;
      left += own;
    }
    for (const section of sections) {
      section.hidden = ![...section.querySelectorAll("details.mistakes")].some((fold) => !fold.hidden);
    }
    told.textContent = `${left} of ${all} mistakes`;
  }

  /** Open the fold that the address points at or into, whatever was filtered. */
  function visit() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && target.closest("details.mistakes");
    if (!fold) return;
    if (target.hidden || fold.hidden) {
      field.value = "";
      filter();
    }
    fold.open = true;
    target.scrollIntoView();
  }

  let before = [];
  addEventListener("beforeprint", () => {
    before = folds.map((fold) => fold.element.open);
    folds.forEach((fold) => { fold.element.open = true; });
  });
  addEventListener("afterprint", () => folds.forEach((fold, i) => { fold.element.open = before[i]; }));

  field.addEventListener("input", filter);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    field.value = "";
    filter();
  });
  addEventListener("hashchange", visit);
  filter();
  visit();
})();
