/* Show a term's definition beside it: under the mouse, on keyboard focus, or at the first tap of a finger. The second
   tap follows the link to the glossary. Escape closes the definition, and so does a tap or click elsewhere. */

"use strict";

(() => {
  const boxes = document.querySelector(".term-definitions");
  if (!boxes) return;

  const MARGIN = 8;
  let shown = null; // { link, box }
  let timer = 0;

  function hide() {
    clearTimeout(timer);
    if (shown) shown.box.classList.remove("shown");
    shown = null;
  }

  function show(link, box) {
    clearTimeout(timer);
    if (shown?.link === link) return;
    hide();
    shown = { link, box };
    box.classList.add("shown");
    const place = link.getClientRects()[0]; // a term may break over two lines
    const left = Math.min(place.left, document.documentElement.clientWidth - box.offsetWidth - MARGIN);
    const below = place.bottom + MARGIN / 2;
    const above = place.top - box.offsetHeight - MARGIN / 2;
    const top = below + box.offsetHeight > innerHeight && above > 0 ? above : below;
    box.style.left = `${Math.max(MARGIN, left) + scrollX}px`;
    box.style.top = `${top + scrollY}px`;
  }

  // Wait a little, because the mouse crosses a gap on its way from the term to its definition.
  const soon = (action) => { clearTimeout(timer); timer = setTimeout(action, 200); };

  document.body.append(boxes); // outside of all boxes that scroll or clip
  boxes.hidden = false;

  for (const link of document.querySelectorAll("article a.reference:has(> .std-term)")) {
    const box = document.getElementById(`definition-${link.hash.slice(1)}`);
    if (!box) continue;
    let touched = false;
    link.setAttribute("aria-describedby", box.id);
    link.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") soon(() => show(link, box)); });
    link.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") soon(hide); });
    link.addEventListener("pointerdown", (event) => { touched = event.pointerType !== "mouse" && shown?.link !== link; });
    link.addEventListener("focus", () => { if (!touched) show(link, box); });
    link.addEventListener("blur", hide);
    link.addEventListener("click", (event) => {
      if (touched) event.preventDefault();
      if (touched) show(link, box);
      touched = false;
    });
  }

  boxes.addEventListener("pointerenter", () => clearTimeout(timer), true);
  boxes.addEventListener("pointerleave", () => soon(hide));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.addEventListener("pointerdown", (event) => {
    if (shown && !shown.link.contains(event.target) && !boxes.contains(event.target)) hide();
  });
})();
