/* The index of mistakes: close its folds, filter the mistakes while the reader types, and open the fold of the mistake
   in the address. A printed page shows everything. */

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

  const field = document.querySelector(".mistakes-filter input");
  const status = document.querySelector(".mistakes-filter [role=status]");

  /** Shows the mistakes that contain all the words, in their text or in the name of their exercise. */
  function filter() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let total = 0;
    for (const fold of folds) {
      let matching = 0;
      for (const { element, text } of fold.mistakes) {
        const matches = words.every((word) => text.includes(word) || fold.name.includes(word));
        element.hidden = !matches;
        matching += matches;
      }
      fold.element.hidden = matching === 0;
      fold.element.open = words.length > 0 && matching > 0;
      total += matching;
    }
    for (const section of sections) {
      section.hidden = ![...section.querySelectorAll("details.mistakes")].some((fold) => !fold.hidden);
    }
    status.textContent = `${total} of ${all} mistakes`;
  }

  /** Opens the fold that the address names, or that contains the mistake that it names, and clears the filter if it hides
      them. */
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
  document.documentElement.classList.add("mistakes-closed");
  visit();
})();
